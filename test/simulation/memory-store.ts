/**
 * In-memory LMDB: ordered tables of bytes, one writer at a time among all processes of a directory, and commits at simulated
 * times. Committed data outlives a crash; an interrupted transaction changes nothing. Tables, journal, records, log and outbox
 * above it are the server's own.
 */
import { Packr } from 'msgpackr';
import { firstWhere } from '../../src/lib/collections/binary-search.ts';
import type { Environment, VisibilityWatch } from '../../src/storage/lmdb/environment.ts';
import type { Store } from '../../src/storage/lmdb/open-store.ts';
import { StateTables } from '../../src/storage/lmdb/state-tables.ts';
import { WebhookTables } from '../../src/storage/webhooks/lmdb-delivery-store.ts';
import { RegistryTables } from '../../src/storage/registry/registry-tables.ts';
import type { Host, Timeline } from './timeline.ts';

export class DiskFull extends Error {
  constructor() {
    super('the disk is full');
  }
}

export interface DiskFaults {
  /** Milliseconds until a commit is visible, and again until it is durable; random per commit. */
  commitMs(): number;
  /** True: the commit fails and changes nothing. */
  refuses(): boolean;
  /** Called when a commit is visible and its process is not yet notified; the process may die there. */
  committed(host: Host, file: StoreFile): void;
}

export type StoreFile = 'state' | 'registry' | 'webhooks';

interface RangeOptions {
  readonly start?: Buffer;
  readonly end?: Buffer;
  readonly limit?: number;
  readonly reverse?: boolean;
  readonly exclusiveStart?: boolean;
}

/** Keys with one character per byte, in the order of the bytes. */
class Rows {
  readonly keys: string[] = [];
  readonly #values = new Map<string, Buffer>();

  get(key: string): Buffer | undefined {
    return this.#values.get(key);
  }

  put(key: string, value: Buffer): void {
    if (!this.#values.has(key)) this.keys.splice(lowerBound(this.keys, key), 0, key);
    this.#values.set(key, value);
  }

  remove(key: string): void {
    if (this.#values.delete(key)) this.keys.splice(lowerBound(this.keys, key), 1);
  }
}

function lowerBound(keys: readonly string[], key: string): number {
  return firstWhere(keys.length, (at) => (keys[at] ?? '') >= key);
}

/** Changes of a transaction, by table; undefined: removed. */
type Changes = Map<string, Map<string, Buffer | undefined>>;

/** A file, which outlives the processes that open it. */
class MemoryFile {
  readonly tables = new Map<string, Rows>();
  readonly #waiting: { readonly host: Host; readonly begin: () => void }[] = [];
  #writer: Host | null = null;

  rows(table: string): Rows {
    const found = this.tables.get(table) ?? new Rows();
    this.tables.set(table, found);
    return found;
  }

  apply(changes: Changes): void {
    for (const [table, rows] of changes)
      for (const [key, value] of rows)
        if (value === undefined) this.rows(table).remove(key);
        else this.rows(table).put(key, value);
  }

  /** Calls `begin` with the write lock, which a dead process releases. */
  lock(host: Host, begin: () => void): void {
    this.#waiting.push({ host, begin });
    this.#next();
  }

  unlock(): void {
    this.#writer = null;
    this.#next();
  }

  crashed(host: Host): void {
    if (this.#writer === host) this.unlock();
  }

  #next(): void {
    while (this.#writer === null || this.#writer.isDead) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (next.host.isDead) continue;
      this.#writer = next.host;
      next.begin();
    }
  }
}

export class Disk {
  readonly faults: DiskFaults;
  readonly state = new MemoryFile();
  readonly registry = new MemoryFile();
  readonly webhooks = new MemoryFile();

  constructor(faults: DiskFaults) {
    this.faults = faults;
  }

  /** Releases the files of a process after `kill -9`. */
  crashed(host: Host): void {
    this.state.crashed(host);
    this.registry.crashed(host);
    this.webhooks.crashed(host);
  }

  openWebhooks(timeline: Timeline, host: Host): WebhookTables {
    const { faults, webhooks: file } = this;
    const own = { file, name: 'webhooks', timeline, host, faults } as const;
    return new WebhookTables('', new MemoryEnvironment(own) as unknown as Environment);
  }

  open(timeline: Timeline, host: Host): Store & { readonly openCommits: () => number } {
    const files = (['state', 'registry'] as const).map(
      (name) => new MemoryEnvironment({ file: this[name], name, timeline, host, faults: this.faults }),
    );
    const [state, registry] = files as unknown as [Environment, Environment];
    return {
      directory: '',
      state: new StateTables('', state),
      registry: new RegistryTables('', registry),
      modeBefore: null,
      openCommits: () => files.reduce((sum, { underWay }) => sum + underWay, 0),
      close: () => Promise.resolve(),
    };
  }
}

interface MemoryEnvironmentDeps {
  readonly file: MemoryFile;
  readonly name: StoreFile;
  readonly timeline: Timeline;
  readonly host: Host;
  readonly faults: DiskFaults;
}

/** A process's handle of a file, with the methods of `Environment` that a running server calls. */
class MemoryEnvironment {
  readonly directory = '';
  readonly path = '';
  readonly #deps: MemoryEnvironmentDeps;
  readonly #tables = new Map<string, MemoryTable>();
  changes: Changes | null = null;
  underWay = 0;

  constructor(deps: MemoryEnvironmentDeps) {
    this.#deps = deps;
  }

  get file(): MemoryFile {
    return this.#deps.file;
  }

  table(name: string): MemoryTable {
    const found = this.#tables.get(name) ?? new MemoryTable(this, name);
    this.#tables.set(name, found);
    return found;
  }

  refresh(): void {}

  /** Never called: memory has no damaged pages. */
  onFault(): void {}

  checkRoom(): void {}

  transactionSync<Result>(act: () => Result): Result {
    const { result, changes } = this.#run(act);
    this.file.apply(changes);
    return result;
  }

  transaction<Result>(act: () => Result, watch: VisibilityWatch | null = null): Promise<Result> {
    const { file, name, timeline, host, faults } = this.#deps;
    this.underWay += 1;
    return new Promise((resolve, reject) => {
      const refuse = (error: unknown): void => {
        this.underWay -= 1;
        file.unlock();
        reject(error);
      };
      const commit = (result: Result, changes: Changes): void => {
        file.apply(changes);
        if (watch?.isVisible() === true) watch.onVisible();
        file.unlock();
        faults.committed(host, name);
        timeline.after(faults.commitMs(), host, () => {
          this.underWay -= 1;
          resolve(result);
        });
      };
      const begin = (): void => {
        try {
          const { result, changes } = this.#run(act);
          const isRefused = faults.refuses();
          timeline.after(faults.commitMs(), host, () =>
            isRefused ? refuse(new DiskFull()) : commit(result, changes),
          );
        } catch (error) {
          timeline.after(0, host, () => refuse(error));
        }
      };
      file.lock(host, () => void timeline.after(0, host, begin));
    });
  }

  async close(): Promise<void> {}

  #run<Result>(act: () => Result): { readonly result: Result; readonly changes: Changes } {
    const changes: Changes = new Map();
    this.changes = changes;
    try {
      return { result: act(), changes };
    } finally {
      this.changes = null;
    }
  }
}

const packr = new Packr({ useRecords: false });
/** The key under which lmdb's `asBinary` passes raw bytes. */
const binaryField = '\x10binary-data\x02';

/** The methods of lmdb's `Database` that the server calls. */
class MemoryTable {
  readonly #environment: MemoryEnvironment;
  readonly #name: string;
  readonly #rows: Rows;

  constructor(environment: MemoryEnvironment, name: string) {
    this.#environment = environment;
    this.#name = name;
    this.#rows = environment.file.rows(name);
  }

  get(key: Buffer): unknown {
    const bytes = this.getBinaryFast(key);
    return bytes === undefined ? undefined : packr.unpack(bytes);
  }

  getBinary(key: Buffer): Buffer | undefined {
    const bytes = this.getBinaryFast(key);
    return bytes && Buffer.from(bytes);
  }

  getBinaryFast(key: Buffer): Buffer | undefined {
    return this.#find(key.toString('latin1'));
  }

  put(key: Buffer, value: unknown): Promise<boolean> {
    const isBinary = typeof value === 'object' && value !== null && binaryField in value;
    this.#write(key, Buffer.from(isBinary ? (value[binaryField] as Buffer) : packr.pack(value)));
    return Promise.resolve(true);
  }

  remove(key: Buffer): Promise<boolean> {
    this.#write(key, undefined);
    return Promise.resolve(true);
  }

  getStats(): { readonly entryCount: number } {
    return { entryCount: this.#keys().length };
  }

  *getKeys(options: RangeOptions = {}): Generator<Buffer, void, undefined> {
    for (const key of this.#range(options)) yield Buffer.from(key, 'latin1');
  }

  *getRange(options: RangeOptions = {}): Generator<{ key: Buffer; value: unknown }, void, undefined> {
    for (const key of this.#range(options)) {
      const value = this.#find(key);
      if (value !== undefined) yield { key: Buffer.from(key, 'latin1'), value: packr.unpack(value) };
    }
  }

  #find(key: string): Buffer | undefined {
    const changed = this.#environment.changes?.get(this.#name);
    return changed?.has(key) === true ? changed.get(key) : this.#rows.get(key);
  }

  #write(key: Buffer, value: Buffer | undefined): void {
    const { changes } = this.#environment;
    if (changes === null) throw new Error(`${this.#name} is written outside of a transaction`);
    const changed = changes.get(this.#name) ?? new Map<string, Buffer | undefined>();
    changes.set(this.#name, changed);
    changed.set(key.toString('latin1'), value);
  }

  #range({ start, end, limit = Infinity, reverse = false, exclusiveStart = false }: RangeOptions): string[] {
    const keys = this.#keys();
    const first = start?.toString('latin1');
    const last = end?.toString('latin1');
    if (reverse) return keys.slice(-Math.min(limit, keys.length)).reverse();
    let from = first === undefined ? 0 : lowerBound(keys, first);
    if (exclusiveStart && keys[from] === first) from += 1;
    const to = last === undefined ? keys.length : lowerBound(keys, last);
    return keys.slice(from, Math.min(to, from + limit));
  }

  #keys(): readonly string[] {
    const changed = this.#environment.changes?.get(this.#name);
    if (changed === undefined) return this.#rows.keys;
    const keys = new Set(this.#rows.keys);
    for (const [key, value] of changed)
      if (value === undefined) keys.delete(key);
      else keys.add(key);
    return Array.from(keys).sort();
  }
}
