//! Work that searches should not feel.

use rayon::ThreadPoolBuilder;

/// The lowest priority that a thread can have.
#[cfg(target_os = "linux")]
const LOWEST: i32 = 19;

/// Runs work on one thread, which gives way to all others where the system can do that. Whatever the work divides among
/// threads stays on this one too.
pub(crate) fn in_background<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let pool =
        ThreadPoolBuilder::new().num_threads(1).thread_name(|_| "background".to_owned()).start_handler(|_| give_way());
    match pool.build() {
        Ok(pool) => pool.install(work),
        // Then it is done here: slower for others, but done.
        Err(_) => work(),
    }
}

/// Lowers the priority of this thread; on Linux a thread has one of its own.
fn give_way() {
    #[cfg(target_os = "linux")]
    // It may be forbidden, and the work is done all the same.
    let _ = rustix::process::setpriority_process(None, LOWEST);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_on_one_thread_that_gives_way() {
        let (threads, name) =
            in_background(|| (rayon::current_num_threads(), std::thread::current().name().map(str::to_owned)));
        assert_eq!((threads, name.as_deref()), (1, Some("background")));
        #[cfg(target_os = "linux")]
        {
            let priority = || rustix::process::getpriority_process(None).unwrap();
            let before = priority();
            assert_eq!(in_background(priority), LOWEST);
            assert_eq!(priority(), before, "only the other thread");
        }
    }
}
