//! acidtest-disk: the simulated disk for those who have no use for the rest of the rig.

use std::process::ExitCode;

const HELP: &str = "\
acidtest-disk: serves a simulated disk through FUSE, as a file that a loop device can lie on

Standard input brings a specification (DiskSpec), then commands (DiskCommand), one a line (JSON Lines); standard output
has an answer (DiskAnswer) to each. The end of standard input ends the disk. docs/SIMULATED-DISK.md tells what it does,
docs/FORMAT.md names every field.

Exit codes: 0 done, 1 the disk could not be made (the answer says why), 2 bad arguments.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => disk::command(),
        ["--help" | "-h"] => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        ["--version"] => {
            println!("acidtest-disk {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        other => {
            eprintln!("acidtest-disk: unknown arguments: {}; see acidtest-disk --help", other.join(" "));
            ExitCode::from(2)
        }
    }
}
