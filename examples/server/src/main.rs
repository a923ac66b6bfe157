//! ```sh
//! cargo run --release -p maskwright-example-server -- 127.0.0.1:8080
//! curl http://127.0.0.1:8080/v1/chat/completions -d '{"messages": [], "response_format": {"type": "json_object"}}'
//! ```

use maskwright_example_server::{Server, ServerLimits};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let server = Server::new(ServerLimits::default())?;
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("http://{}/v1/chat/completions", listener.local_addr()?);
    axum::serve(listener, server.router()).await?;
    Ok(())
}
