//! The syntax of names that Kubernetes and Gangline demand (apimachinery `util/validation`).

/// Longest label value and DNS label.
pub const MAX_LABEL: usize = 63;
/// Longest DNS subdomain.
pub const MAX_SUBDOMAIN: usize = 253;

/// Whether a text is an RFC 1123 label: `a-z0-9-`, beginning and ending with a letter or digit, at most 63.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= MAX_LABEL && is_dns_part(text)
}

/// Whether a text is an RFC 1123 subdomain as object names are: parts joined by dots, at most 253 in all.
pub fn is_dns_subdomain(text: &str) -> bool {
    // apimachinery bounds the whole, not each part.
    text.len() <= MAX_SUBDOMAIN && text.split('.').all(is_dns_part)
}

fn is_dns_part(part: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !part.is_empty() && !part.starts_with('-') && !part.ends_with('-') && part.bytes().all(inside)
}

/// Whether a text is a label value: empty, or `A-Za-z0-9-_.` beginning and ending with a letter or digit, at most 63.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

/// Whether a text is the key of a label, annotation or resource: an optional subdomain and `/`, then a name.
pub fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_name_part(name),
        None => is_name_part(text),
    }
}

fn is_name_part(text: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let bytes = text.as_bytes();
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    ends(bytes.first()) && ends(bytes.last()) && bytes.len() <= MAX_LABEL && bytes.iter().all(|byte| inside(*byte))
}

/// Whether a text is the path of a queue: `root`, or `root.` and DNS labels joined by dots; at most 63, since it is
/// also a label value.
pub fn is_queue_path(text: &str) -> bool {
    let mut parts = text.split('.');
    text.len() <= MAX_LABEL && parts.next() == Some("root") && parts.all(is_dns_label)
}

/// Whether a key belongs to Gangline or to Kubernetes (`gangline.dev/`, `kubernetes.io/`, `k8s.io/` and all below).
pub fn is_reserved_key(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    ["gangline.dev", "kubernetes.io", "k8s.io"]
        .iter()
        .any(|owner| prefix.strip_suffix(owner).is_some_and(|below| below.is_empty() || below.ends_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rule = fn(&str) -> bool;

    #[test]
    fn names_are_judged_as_apimachinery_does() {
        let long = "a".repeat(63);
        let table: [(Rule, &[&str], &[&str]); 6] = [
            (is_dns_label, &["a", "a-1", "0", &long], &["", "-a", "a-", "A", "a.b", "ä", "a_b", &"a".repeat(64)]),
            (is_dns_subdomain, &["a", "a.b-c", &"a".repeat(253)], &["", "a..b", ".a", "a.", "A.b", &"a".repeat(254)]),
            (is_label_value, &["", "A_b.c-1", &long], &["-a", "a ", "a/b", "a\n", &"a".repeat(64)]),
            (is_qualified_name, &["cpu", "a.b/C", "x/y"], &["", "/a", "a/", "a/b/c", "A/b", "a /b", "a/b\u{202e}"]),
            (
                is_queue_path,
                &["root", "root.a", "root.a-1.b"],
                &["", "a", "root.", "root..a", "root.A", "rooty", "root.a_b"],
            ),
            (
                is_reserved_key,
                &["gangline.dev/x", "a.gangline.dev/x", "kubernetes.io/x", "app.kubernetes.io/x", "node.k8s.io/x"],
                &["x", "gangline.dev", "notkubernetes.io/x", "example.com/kubernetes.io"],
            ),
        ];
        for (rule, good, bad) in table {
            good.iter().for_each(|text| assert!(rule(text), "{text} is fine"));
            bad.iter().for_each(|text| assert!(!rule(text), "{text} is wrong"));
        }
        assert!(!is_queue_path(&format!("root.{}.{}", "a".repeat(30), "b".repeat(30))));
    }
}
