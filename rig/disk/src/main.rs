//! acidtest-disk: the simulated disk for those who have no use for the rest of the rig.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [version] = &arguments[..] {
        if version == "--version" {
            println!("acidtest-disk {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
    }
    disk::command("acidtest-disk", &arguments)
}
