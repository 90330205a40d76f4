//! Generations: which are taken, which are refused, and what stays unnoticed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clickvec_serve::Canary;

use crate::harness::{ADMIN, Reply, SHOES, Service, with_admin, write_index};

fn reload(service: &Service) -> Reply {
    service.ask("POST", "/admin/reload", &[ADMIN], b"")
}

#[test]
fn a_new_index_is_taken_and_the_old_one_kept_to_compare_and_go_back_to() {
    let service = with_admin(|_| ());
    service.ask("POST", "/admin/rollback", &[ADMIN], b"").refuses(409, "none");
    assert_eq!(reload(&service).is(200)["indexes"][0]["result"], "unchanged");
    write_index(&service.index(), &SHOES[..4]);
    let reloaded = reload(&service).is(200);
    assert_eq!(
        (&reloaded["indexes"][0]["result"], &reloaded["indexes"][0]["generation"]),
        (&"swapped".into(), &2.into())
    );
    let total = |query: &str| service.get(query).is(200)["total"].as_u64().unwrap();
    assert_eq!((total("/search?q=sofa"), total("/search?q=sofa&generation=previous")), (4, 6));
    let old = service.post("/explain", r#"{"query":"hose","id":"t5","generation":"previous"}"#).is(200);
    assert_eq!(old["generation"], 1);
    assert_eq!(service.ask("POST", "/admin/rollback", &[ADMIN], b"").is(200)["indexes"][0]["generation"], 1);
    assert_eq!((total("/search?q=sofa"), total("/search?q=sofa&generation=previous")), (6, 4));
    service.ask("POST", "/admin/reload?index=other", &[ADMIN], b"").refuses(404, "shop");
}

/// Returns the path inside `folder` of each file in it and below it.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        if path.is_dir() {
            names.extend(files_in(&path).iter().map(|inner| name.join(inner)));
        } else {
            names.push(name);
        }
    }
    names
}

#[test]
fn what_does_not_fit_is_refused_and_the_old_one_stays() {
    let service = with_admin(|_| ());
    write_index(&service.path("other"), &SHOES[..3]);
    let refused = |what: &str| {
        let reply = reload(&service);
        reply.refuses(409, "still answers");
        assert_eq!(service.get("/search?q=sofa").is(200)["total"], 6, "{what}");
    };
    // A byte in every file.
    let names = files_in(&service.path("other"));
    assert!(names.len() > 3, "{names:?}");
    for name in names {
        std::fs::remove_dir_all(service.index()).unwrap();
        write_index(&service.index(), &SHOES[..3]);
        let file = service.index().join(&name);
        let mut bytes = std::fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        std::fs::write(&file, bytes).unwrap();
        refused(&name.display().to_string());
        std::fs::remove_file(&file).unwrap();
        refused(&format!("{} missing", name.display()));
    }
    std::fs::remove_dir_all(service.index()).unwrap();
    refused("no folder");
    write_index(&service.index(), &[]);
    refused("no title");
    write_index(&service.index(), &SHOES[..3]);
    reload(&service).is(200);
    assert_eq!(service.get("/search?q=sofa").is(200)["total"], 3);
    let figures = service.get("/metrics").text();
    assert!(figures.contains("clickvec_reloads_total{index=\"shop\",result=\"refused\"}"), "{figures}");
}

#[test]
fn a_canary_that_is_not_found_refuses_an_index() {
    let canary = |id: &str| vec![Canary { query: "leather sofa".to_owned(), id: id.to_owned() }];
    let service = with_admin(|config| config.canaries = canary("t1"));
    write_index(&service.index(), &SHOES[1..]);
    reload(&service).refuses(409, "`t1`");
    assert_eq!(service.get("/search?q=sofa").is(200)["total"], 6);
    let mut config = clickvec_serve::Config::new(vec![("shop".to_owned(), service.index())]);
    config.listen.set_port(0);
    config.canaries = canary("t1");
    let error = clickvec_serve::Server::start(config, std::io::sink()).map(drop).unwrap_err().to_string();
    assert!(error.contains("among the first 10 titles, found "), "{error}");
}

#[test]
fn a_changed_folder_is_noticed() {
    let service = Service::with(|config, _| config.limits.watch = Duration::from_millis(50));
    write_index(&service.index(), &SHOES[..2]);
    let begun = Instant::now();
    while service.get("/search?q=sofa").is(200)["total"] != 2 {
        assert!(begun.elapsed() < Duration::from_secs(20), "the new index was not noticed");
        std::thread::sleep(Duration::from_millis(20));
    }
    let log = service.stop();
    assert!(log.contains("\"event\":\"reload\"") && log.contains("\"result\":\"swapped\""), "{log}");
}

#[test]
fn a_change_of_a_linked_index_is_noticed() {
    let service = Service::with(|config, folder| {
        config.limits.watch = Duration::from_millis(50);
        let [first, second, all] = ["first", "second", "all"].map(|name| folder.join(name));
        write_index(&first, &SHOES[..3]);
        write_index(&second, &SHOES[3..]);
        clickvec_index::link(&[first, second], &all).unwrap();
        config.indexes[0].1 = all;
    });
    assert_eq!(service.get("/search?q=sofa").is(200)["total"], 6);
    write_index(&service.path("second"), &SHOES[3..4]);
    let begun = Instant::now();
    while service.get("/search?q=sofa").is(200)["total"] != 4 {
        assert!(begun.elapsed() < Duration::from_secs(20), "the change was not noticed");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn no_request_is_lost_while_generations_change() {
    let service = with_admin(|_| ());
    let (done, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let answer = service.get("/search?q=leather+sofa&mode=fused").is(200);
                    // One generation answers the whole request.
                    let titles = answer["results"].as_array().unwrap().len() as u64;
                    assert_eq!(answer["total"].as_u64().unwrap(), titles);
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..12 {
            write_index(&service.index(), &SHOES[..3 + round % 4]);
            service.server().reload();
            if round % 3 == 0 {
                service.ask("POST", "/admin/rollback", &[ADMIN], b"").is(200);
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(asked.load(Ordering::Relaxed) > 20);
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn going_back_lasts_until_the_index_changes() {
    let service = with_admin(|config| config.limits.watch = Duration::from_millis(20));
    let total = || service.get("/search?q=sofa").is(200)["total"].as_u64().unwrap();
    let until = |wanted: u64| {
        let begun = Instant::now();
        while total() != wanted {
            assert!(begun.elapsed() < Duration::from_secs(20), "{} instead of {wanted}", total());
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let stays = |wanted: u64| {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(600) {
            assert_eq!(total(), wanted);
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let roll_back = || service.ask("POST", "/admin/rollback", &[ADMIN], b"").is(200);
    // A client asks for the new index, sees that it is worse, and goes back before the folder was looked at.
    write_index(&service.index(), &SHOES[..4]);
    reload(&service).is(200);
    roll_back();
    stays(6);
    // Even if the same index is written once more.
    write_index(&service.index(), &SHOES[..4]);
    stays(6);
    // A client that asks for it gets it.
    reload(&service).is(200);
    assert_eq!(total(), 4);
    roll_back();
    // Another one is noticed.
    write_index(&service.index(), &SHOES[..3]);
    until(3);
    roll_back();
    stays(4 + 2);
    let mut updater = clickvec_index::Updater::open(&service.index()).unwrap();
    updater.delete("t1");
    updater.commit().unwrap();
    until(2);
    // Back and forth: what is in the folder answers again.
    roll_back();
    roll_back();
    stays(2);
}
