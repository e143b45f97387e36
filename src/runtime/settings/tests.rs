//! Settings from files, flags and defaults, and what is said of wrong ones.

use super::*;

fn load(text: &str, args: &RunArgs) -> Result<Settings, String> {
    let path = PathBuf::from("gangline.yaml");
    let file = parse(text, &path).map_err(|error| error.to_string())?;
    Settings::resolve(args, file, &path).map_err(|error| error.to_string())
}

fn defaults() -> Settings {
    load("", &RunArgs::default()).unwrap()
}

#[test]
fn the_file_in_the_help_text_is_the_default() {
    let help = crate::runtime::args::RUN_HELP;
    let (_, file) = help.split_once("its default:\n").unwrap();
    assert_eq!(load(file, &RunArgs::default()).unwrap(), defaults());
    for field in [
        "schedulerNames",
        "placeholderImage",
        "ignoreForeignMarkers",
        "dialects",
        "defaultWaitTimeout",
        "maxPlaceholders",
        "leaderElection",
        "enabled",
        "namespace",
        "leaseDurationSeconds",
        "renewDeadlineSeconds",
        "retryPeriodSeconds",
        "address",
        "auth",
        "tls",
        "tlsDirectory",
        "format",
        "level",
    ] {
        assert!(file.contains(field), "{field} is missing in the help");
    }
}

#[test]
fn every_field_is_honoured_and_flags_win() {
    let text = "schedulerNames: [a, b.c]\nplaceholderImage: pause@sha256:0\nignoreForeignMarkers: true\nsubmitters: true\nmaxPlaceholders: 7\ndefaultWaitTimeout: 1h30m\nhttp: {address: '127.0.0.1:0'}\n\
                log: {format: json, level: 'info,gangline=debug'}\n";
    let settings = load(text, &RunArgs::default()).unwrap();
    assert_eq!(settings.scheduler_names, ["a", "b.c"]);
    assert_eq!(settings.placeholder_image, "pause@sha256:0");
    assert_eq!(settings.http, Http { address: ([127, 0, 0, 1], 0).into(), auth: false, tls: None });
    assert!(settings.ignore_foreign_markers && !defaults().ignore_foreign_markers);
    assert!(settings.submitters && !defaults().submitters);
    assert_eq!((settings.max_placeholders, defaults().max_placeholders), (7, 5_000));
    assert_eq!((settings.default_wait_timeout_seconds, defaults().default_wait_timeout_seconds), (5_400, 600));
    assert_eq!((settings.log_format, &*settings.log_level), (LogFormat::Json, "info,gangline=debug"));
    let args = RunArgs {
        scheduler_names: vec!["x".into()],
        placeholder_image: Some("y".into()),
        http: Some(([10, 0, 0, 1], 80).into()),
        log_format: Some(LogFormat::Text),
        log_level: Some("warn".into()),
        max_placeholders: Some(9),
        leader_elect: Some(false),
        ..RunArgs::default()
    };
    let settings = load(text, &args).unwrap();
    let expected = Settings {
        scheduler_names: vec!["x".into()],
        placeholder_image: "y".into(),
        http: Http { address: ([10, 0, 0, 1], 80).into(), auth: true, tls: Some(Certificate::Own) },
        log_format: LogFormat::Text,
        log_level: "warn".into(),
        ignore_foreign_markers: true,
        dialects: vec![Dialect::YuniKorn],
        default_wait_timeout_seconds: 5_400,
        submitters: true,
        max_placeholders: 9,
        leader_election: LeaderElection { enabled: false, ..defaults().leader_election },
    };
    assert_eq!(settings, expected);
    for (file, flag, named) in [
        ("dialects: []", vec![], &[][..]),
        ("dialects: [yunikorn]", vec![Words::None], &[]),
        ("dialects: []", vec![Words::YuniKorn], &[Dialect::YuniKorn]),
        ("dialects: [yunikorn, koordinator]", vec![], &[Dialect::YuniKorn, Dialect::Koordinator]),
        ("", vec![Words::Koordinator], &[Dialect::Koordinator]),
        ("dialects: [volcano]", vec![], &[Dialect::Volcano]),
        ("dialects: [kubernetes]", vec![], &[Dialect::Kubernetes]),
        ("", vec![Words::Kubernetes], &[Dialect::Kubernetes]),
        ("", vec![Words::Volcano, Words::YuniKorn], &[Dialect::Volcano, Dialect::YuniKorn]),
        ("", vec![], &[Dialect::YuniKorn]),
    ] {
        assert_eq!(load(file, &RunArgs { dialects: flag, ..RunArgs::default() }).unwrap().dialects, named, "{file}");
    }
    let unknown = load("dialects: [slurm]", &RunArgs::default()).unwrap_err();
    assert!(unknown.contains("slurm") && unknown.contains("yunikorn"), "{unknown}");
    for wrong in ["600", "0s", "-1s", "soon", "8761h"] {
        let said = load(&format!("defaultWaitTimeout: '{wrong}'"), &RunArgs::default()).unwrap_err();
        assert!(said.contains(&format!("defaultWaitTimeout: `{wrong}` must be a time")), "{said}");
    }
    let flag = RunArgs { ignore_foreign_markers: true, ..RunArgs::default() };
    let off = "ignoreForeignMarkers: false";
    assert_eq!(load(off, &flag).unwrap(), Settings { ignore_foreign_markers: true, ..defaults() });
}

#[test]
fn nothing_is_open_but_on_loopback_unless_somebody_says_so() {
    let http = |text: &str| load(&format!("http: {{{text}}}"), &RunArgs::default()).unwrap().http;
    let own = || Some(Certificate::Own);
    for (text, auth, tls, warns) in [
        ("", false, None, false),
        ("address: '127.0.0.1:8080'", false, None, false),
        ("address: '[::1]:8080'", false, None, false),
        ("address: '[::ffff:127.0.0.1]:8080'", false, None, false),
        ("address: '0.0.0.0:8080'", true, own(), false),
        ("address: '[::]:8080'", true, own(), false),
        ("address: '10.0.0.1:8080'", true, own(), false),
        ("auth: always, tls: always", true, own(), false),
        ("address: '0.0.0.0:8080', auth: never", false, own(), true),
        ("address: '0.0.0.0:8080', tls: never", true, None, true),
        ("address: '0.0.0.0:8080', auth: never, tls: never", false, None, true),
        ("tlsDirectory: /certs", false, Some(Certificate::Directory("/certs".into())), false),
    ] {
        let found = http(text);
        assert_eq!((found.auth, &found.tls, found.warning().is_some()), (auth, &tls, warns), "{text}");
    }
}

#[test]
fn flags_say_who_may_ask_too_and_a_certificate_without_tls_is_a_mistake() {
    let args = RunArgs { http_auth: Some(Demand::Always), http_tls: Some(Demand::Never), ..RunArgs::default() };
    let http = load("http: {auth: never, tls: always}", &args).unwrap().http;
    assert_eq!((http.auth, http.tls), (true, None));
    let directory = RunArgs { http_tls_directory: Some("/b".into()), ..RunArgs::default() };
    let http = load("http: {tlsDirectory: /a}", &directory).unwrap().http;
    assert_eq!(http.tls, Some(Certificate::Directory("/b".into())));
    let problem = "is of no use without TLS, which is switched off";
    let said = load("http: {tls: never, tlsDirectory: /a}", &RunArgs::default()).unwrap_err();
    assert_eq!(said, format!("gangline.yaml: http.tlsDirectory: {problem}"));
    assert_eq!(load("http: {tls: never}", &directory).unwrap_err(), format!("--http-tls-directory: {problem}"));
    assert!(load("http: {auth: 'off'}", &RunArgs::default()).unwrap_err().contains("never"));
}

#[test]
fn times_of_an_election_are_those_of_kube_scheduler_and_must_fit_together() {
    let timing = |duration_ms, renew_ms, retry_ms| Timing { duration_ms, renew_ms, retry_ms };
    let LeaderElection { enabled, namespace, timing: default } = defaults().leader_election;
    assert_eq!((enabled, &*namespace, default), (true, "kube-system", timing(15_000, 10_000, 2_000)));
    let set = |times: (u32, u32, u32)| {
        let (duration, renew, retry) = times;
        let text = format!(
            "leaderElection: {{enabled: false, namespace: n, leaseDurationSeconds: {duration}, \
             renewDeadlineSeconds: {renew}, retryPeriodSeconds: {retry}}}"
        );
        load(&text, &RunArgs::default()).map(|settings| settings.leader_election)
    };
    let expected = LeaderElection { enabled: false, namespace: "n".into(), timing: timing(60_000, 40_000, 5_000) };
    assert_eq!(set((60, 40, 5)).unwrap(), expected);
    for (times, field) in [
        ((15, 15, 2), "renewDeadlineSeconds"),
        ((601, 10, 2), "leaseDurationSeconds"),
        ((15, 10, 5), "retryPeriodSeconds"),
        ((15, 10, 0), "retryPeriodSeconds"),
    ] {
        let error = set(times).unwrap_err();
        assert!(error.starts_with(&format!("gangline.yaml: leaderElection.{field}: must")), "{error}");
    }
    let flag = RunArgs { leader_elect: Some(true), ..RunArgs::default() };
    assert!(load("leaderElection: {enabled: false}", &flag).unwrap().leader_election.enabled);
    assert!(load("leaderElection: {namespace: A_b}", &RunArgs::default()).unwrap_err().contains("is no namespace"));
}

#[test]
fn comments_only_are_an_empty_file() {
    assert_eq!(load("# nothing\n", &RunArgs::default()).unwrap(), defaults());
}

#[test]
fn wrong_values_are_all_named_with_file_and_field() {
    let text =
        "schedulerNames: [ok, Bad_Name]\nplaceholderImage: ''\nhttp: {address: localhost}\nlog: {level: loud=x=y}\n";
    let error = load(text, &RunArgs::default()).unwrap_err();
    for field in ["schedulerNames[1]: `Bad_Name`", "placeholderImage: ", "http.address: `localhost`", "log.level: "] {
        assert!(error.contains(&format!("gangline.yaml: {field}")), "{field} in\n{error}");
    }
    assert_eq!(error.lines().count(), 4, "{error}");
    let args = RunArgs { scheduler_names: vec!["É".into()], ..RunArgs::default() };
    assert_eq!(load("", &args).unwrap_err(), "--scheduler-name: `É` is no DNS subdomain name");
}

#[test]
fn unknown_fields_and_wrong_types_name_file_field_and_line() {
    for (text, parts) in [
        ("schedulerName: x", ["gangline.yaml: line 1 ", "schedulerName", "--> gangline.yaml:1:"]),
        ("http:\n  adress: x", ["gangline.yaml: line 2 ", "adress", "--> gangline.yaml:2:"]),
        ("log:\n  format: loud", ["gangline.yaml: line 2 ", "loud", "--> gangline.yaml:2:"]),
        ("schedulerNames: 5", ["gangline.yaml: line 1 ", "schedulerNames", "--> gangline.yaml:1:"]),
    ] {
        let error = load(text, &RunArgs::default()).unwrap_err();
        assert!(parts.iter().all(|part| error.contains(part)), "{text:?} gave\n{error}");
    }
}
