/* Does nothing until it is told to end: what runs in placeholders where no registry is reached. */
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

int main(void) {
  sigset_t told;
  int number;
  sigemptyset(&told);
  sigaddset(&told, SIGTERM);
  sigaddset(&told, SIGINT);
  sigaddset(&told, SIGCHLD);
  sigprocmask(SIG_BLOCK, &told, NULL);
  for (;;) {
    if (sigwait(&told, &number) != 0) return 1;
    if (number != SIGCHLD) return 0;
    /* The first process of a pod inherits the others' orphans. */
    while (waitpid(-1, NULL, WNOHANG) > 0) {}
  }
}
