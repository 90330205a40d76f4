//! Who may do what.

use crate::harness::Service;
use clickvec_serve::Tokens;

const SEARCH: &str = "search-token-of-many-letters";
const ADMIN: &str = "admin-token-of-many-letters";

fn guarded() -> Service {
    Service::with(|config, folder| {
        let path = folder.join("tokens");
        std::fs::write(&path, format!("search {SEARCH}\nadmin {ADMIN}\n")).unwrap();
        config.tokens = Tokens::read(&path).unwrap();
    })
}

#[test]
fn without_a_token_nothing_is_answered_but_health_and_the_page() {
    let service = guarded();
    for path in ["/health/live", "/health/ready", "/metrics", "/openapi.json", "/"] {
        assert_eq!(service.get(path).status, 200, "{path}");
    }
    for path in ["/search?q=a", "/indexes", "/v1/models"] {
        service.get(path).refuses(401, "found none");
        let wrong = service.ask("GET", path, &[("authorization", "Bearer search-token-of-many-letter")], b"");
        wrong.refuses(401, "found an unknown one");
        assert_eq!(wrong.header("www-authenticate"), Some("Bearer"));
    }
    for header in [
        SEARCH.to_owned(),
        format!("Basic {SEARCH}"),
        format!("Bearer{SEARCH}"),
        "Bearer ".to_owned(),
        format!("Bearer {SEARCH}x"),
    ] {
        service.ask("GET", "/search?q=a", &[("authorization", &header)], b"").refuses(401, "");
    }
}

#[test]
fn each_token_opens_its_own() {
    let service = guarded();
    let bearer = |token: &str| format!("bearer {token}");
    for token in [SEARCH, ADMIN] {
        service.ask("GET", "/search?q=sofa", &[("authorization", &bearer(token))], b"").is(200);
    }
    service.ask("POST", "/admin/reload", &[("authorization", &bearer(SEARCH))], b"").refuses(401, "");
    let reloaded = service.ask("POST", "/admin/reload", &[("authorization", &bearer(ADMIN))], b"").is(200);
    assert_eq!(reloaded["indexes"][0]["result"], "unchanged");
}

#[test]
fn without_tokens_for_administration_nobody_may() {
    let service = Service::start();
    service.ask("POST", "/admin/reload", &[], b"").refuses(403, "start it with a file of such tokens");
    service.ask("POST", "/admin/rollback", &[], b"").refuses(403, "start it with a file of such tokens");
}

#[test]
fn a_page_of_another_site_cannot_post() {
    let service = Service::with(|config, _| config.origins = vec!["https://shop.example".to_owned()]);
    let own = format!("http://{}", service.address);
    let json = ("content-type", "application/json");
    let ask = |origin: &str| service.ask("POST", "/search", &[("origin", origin), json], br#"{"query":"sofa"}"#);
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1", "https://shop.example.evil.example"] {
        ask(origin).refuses(403, "page");
    }
    assert_eq!(ask(&own).status, 200);
    let allowed = ask("https://shop.example");
    assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (200, Some("https://shop.example")));
    let preflight = service.ask("OPTIONS", "/search", &[("origin", "https://shop.example")], b"");
    assert_eq!((preflight.status, preflight.header("access-control-allow-methods")), (204, Some("GET, POST")));
    service.ask("OPTIONS", "/search", &[("origin", "https://evil.example")], b"").refuses(405, "");
    assert_eq!(service.get("/search?q=a").header("access-control-allow-origin"), None);
}

/// The page of another site may let its name point to this machine; its browser still sends that name.
#[test]
fn what_was_sent_to_another_name_is_refused() {
    let service = Service::with(|config, folder| {
        config.hosts = vec!["search.example".to_owned()];
        config.record = Some(folder.join("record"));
    });
    let send = |method: &str, path: &str, more: &str, body: &str| {
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\n{length}{more}\r\n"
        );
        service.send((head + body).as_bytes())
    };
    let judgment = r#"{"query":"sofa","id":"t1","grade":"up"}"#;
    let rebound = "Host: evil.example:7700\r\nOrigin: http://evil.example:7700\r\n";
    for (method, path, body) in [
        ("POST", "/judge", judgment),
        ("POST", "/click", r#"{"query":"sofa","id":"t1"}"#),
        ("POST", "/search", r#"{"query":"sofa"}"#),
        ("POST", "/v1/embeddings", r#"{"input":["sofa"],"model":"shop"}"#),
        ("POST", "/admin/reload", ""),
        ("GET", "/search?q=sofa", ""),
        ("GET", "/indexes", ""),
        ("GET", "/v1/models", ""),
        ("GET", "/metrics", ""),
        ("GET", "/openapi.json", ""),
        ("GET", "/", ""),
        ("GET", "/page.js", ""),
    ] {
        send(method, path, rebound, body).refuses(403, "`evil.example:7700`");
    }
    assert!(!std::fs::read_to_string(service.path("record/judgments.tsv")).unwrap_or_default().contains("sofa"));
    // A probe may name the machine as it likes.
    send("GET", "/health/ready", "Host: node-7\r\n", "").is(200);
    // An address that is given in whole says the name, whatever Host says.
    send("GET", "http://evil.example/search?q=sofa", "Host: localhost\r\n", "").refuses(403, "`evil.example`");
    send("GET", "http://evil@localhost/search?q=sofa", "Host: localhost\r\n", "").refuses(403, "`evil@localhost`");
    send("GET", "http://search.example:443/search?q=sofa", "Host: evil.example\r\n", "").is(200);
    let own = "Host: localhost\r\nOrigin: http://evil.example\r\n";
    send("POST", "http://evil.example/judge", own, judgment).refuses(403, "`evil.example`");
    let other = "Host: evil.example\r\nOrigin: http://evil.example\r\n";
    send("POST", "http://localhost/judge", other, judgment).refuses(403, "page");
    // As nginx passes it on, without or with the port of the address that the browser has.
    for (host, origin) in [
        ("search.example", "https://search.example"),
        ("search.example", "https://search.example:8443"),
        ("search.example:8443", "https://search.example:8443"),
        ("127.0.0.1:7700", "http://127.0.0.1:7700"),
        ("[::1]:7700", "http://[::1]:7700"),
        ("localhost:7700", "http://localhost:7700"),
    ] {
        send("POST", "/judge", &format!("Host: {host}\r\nOrigin: {origin}\r\n"), judgment).is(200);
        send("GET", "/search?q=sofa", &format!("Host: {host}\r\n"), "").is(200);
    }
    // The same machine at another port is another site.
    for (host, origin) in [("localhost:7700", "http://localhost:3000"), ("search.example", "https://evil.example:7700")]
    {
        let more = format!("Host: {host}\r\nOrigin: {origin}\r\n");
        send("POST", "/judge", &more, judgment).refuses(403, "page");
    }
}
