import Database from "better-sqlite3";
export function setup(path: string): void {
    const db = new Database(path);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.close();
}
