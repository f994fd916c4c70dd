/**
 * The file of the console's key, `console-key.json`: `{"key": "…", "ended": {"NAME": EXPIRES}}`. The key signs session cookies;
 * `ended` lists sessions that were logged out before they expired. Without the file, all sessions are invalid.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { SerialQueue } from '../../lib/collections/queues.ts';
import { decodeJsonObject, isJsonObject } from '../../lib/utf8.ts';
import { PrivateFile } from './private-file.ts';

const fileName = 'console-key.json';
const keyBytes = 32;
const keyForm = /^[\w-]{43}$/;
/** Maximum logouts kept; one more replaces the key, which ends every session. */
export const endedSessionsMax = 1000;

interface StoredConsoleKey {
  readonly key: string;
  /** Expiry of each logged-out session in wall milliseconds, by name. */
  readonly ended: ReadonlyMap<string, number>;
}

export class ConsoleKey {
  readonly #file: PrivateFile;
  readonly #turns = new SerialQueue();
  #stored: StoredConsoleKey;

  private constructor(file: PrivateFile, stored: StoredConsoleKey) {
    this.#file = file;
    this.#stored = stored;
  }

  /** Creates the file if it is missing or invalid. Rejects with a StoreOpenError when it cannot be read or written. */
  static async open(directory: string): Promise<ConsoleKey> {
    const file = new PrivateFile(join(directory, fileName), "the console's key");
    const stored = parseConsoleKey((await file.read())?.bytes ?? Buffer.alloc(0));
    const live = new ConsoleKey(file, stored ?? { key: freshKey(), ended: new Map() });
    if (stored === null) await live.#write(live.#stored);
    return live;
  }

  get secret(): string {
    return this.#stored.key;
  }

  hasEnded(name: string): boolean {
    return this.#stored.ended.has(name);
  }

  /** Resolves when the file is on disk. Rejects with a StoreOpenError, and ends no session, when the file cannot be written. */
  end(name: string, expiresAtMs: number, nowMs: number): Promise<void> {
    return this.#turns.run(async () => {
      const kept = [...this.#stored.ended].filter(([, endMs]) => endMs > nowMs);
      const isFull = kept.length >= endedSessionsMax;
      const key = isFull ? freshKey() : this.secret;
      await this.#write({ key, ended: new Map([...(isFull ? [] : kept), [name, expiresAtMs]]) });
    });
  }

  async #write(stored: StoredConsoleKey): Promise<void> {
    const { key, ended } = stored;
    await this.#file.write(`${JSON.stringify({ key, ended: Object.fromEntries(ended) })}\n`);
    this.#stored = stored;
  }
}

/** Null: the bytes hold no key. */
function parseConsoleKey(bytes: Uint8Array): StoredConsoleKey | null {
  const json = decodeJsonObject(bytes);
  if (!json.ok) return null;
  const { key, ended = {} } = json.value;
  if (typeof key !== 'string' || !keyForm.test(key)) return null;
  return { key, ended: new Map(isJsonObject(ended) ? (Object.entries(ended) as [string, number][]) : []) };
}

function freshKey(): string {
  return randomBytes(keyBytes).toString('base64url');
}
