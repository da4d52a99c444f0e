mod protocol;

fn main() {}
