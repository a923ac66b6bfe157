//! `playground serve`: a page for trying grammars, from a server on this machine.
//!
//! [`http`] reads requests, refuses those that [`guard`] does not let in, and answers; [`workers`] bounds the work and cancels that of requests whose sender has gone;
//! [`api`] is what can be asked, as JSON. Each request carries grammar and document, so that the server has no sessions; [`grammars`] keeps what was compiled last.
//!
//! A grammar of the page is as untrusted as any: work is bounded by [`maskwright::Limits`], and by the time limit of a request.

mod allowed;
mod api;
mod assets;
mod continuation;
mod document;
mod explanation;
mod grammars;
mod guard;
mod http;
mod place;
mod schema;
mod workers;

use crate::cli::EXIT_CODES;
use crate::failure::{Failure, Verdict};
use crate::output::{Output, complain};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Options of `serve`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    /// The port; 0 takes a free one
    #[arg(long, default_value_t = 7878)]
    pub port: u16,
    /// The address to listen on. Only this machine reaches the default; others can send work to any other
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub listen: IpAddr,
    /// A vocabulary file to offer beside the embedded ones: a tokenizer.json or .tiktoken file (can be repeated)
    #[arg(long, value_name = "VOCAB")]
    pub vocab: Vec<String>,
    /// Seconds after which the work of a request is stopped
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub time_limit: u64,
    /// Requests that are worked on at the same time
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub workers: u16,
}

/// Runs the command, until the process is ended.
///
/// # Errors
/// If a vocabulary can't be read, or the address can't be listened on.
pub fn run(args: &Args, _output: &mut Output) -> Result<Verdict, Failure> {
    let grammars = Arc::new(grammars::Grammars::new(&args.vocab)?);
    let workers = workers::Workers::new(args.workers.into(), Duration::from_secs(args.time_limit));
    let address = SocketAddr::new(args.listen, args.port);
    let failed = |error: std::io::Error| Failure::Usage(format!("can't serve on {address}: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(args.workers.into())
        .build()
        .map_err(failed)?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        if !bound.ip().is_loopback() {
            complain(&format!(
                "warning: {bound} can be reached from other machines, and whoever reaches it can make this one work"
            ));
        }
        let mut stdout = std::io::stdout();
        let _ = writeln!(stdout, "serving http://{bound}/ (Ctrl+C ends it)").and_then(|()| stdout.flush());
        http::serve(listener, bound, workers, grammars).await;
        Ok(Verdict::Yes)
    })
}
