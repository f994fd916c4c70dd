/**
 * The file of the console's key, `console-key.json`: `{"key": "…", "ended": {"NAME": EXPIRES}}`. It signs the cookies of sessions, and
 * holds the names of those that ended by a logout before their time. Without the file every session has ended.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJsonObject, isJsonObject } from '../../lib/utf8.ts';

const fileName = 'console-key.json';
const keyBytes = 32;
const keyForm = /^[\w-]{43}$/;
/** Logouts that are kept; with one more there is a new key, which ends every session. */
export const endedSessionsMax = 1000;

export class ConsoleKey {
  readonly #path: string;
  #secret: string;
  /** Wall milliseconds until which it would have lived, by name. */
  readonly #ended: Map<string, number>;

  /** Makes the file where there is none that can be used. Throws when it cannot be read or written. */
  constructor(directory: string) {
    this.#path = join(directory, fileName);
    const { key, ended = {} } = this.#read();
    const isKey = typeof key === 'string' && keyForm.test(key);
    this.#secret = isKey ? key : freshKey();
    this.#ended = new Map(isJsonObject(ended) ? (Object.entries(ended) as [string, number][]) : []);
    if (!isKey) this.#write();
  }

  get secret(): string {
    return this.#secret;
  }

  hasEnded(name: string): boolean {
    return this.#ended.has(name);
  }

  /** In the file when it returns; a power cut may lose it. Throws when the file cannot be written. */
  end(name: string, expiresAtMs: number, nowMs: number): void {
    for (const [known, endMs] of this.#ended) if (endMs <= nowMs) this.#ended.delete(known);
    if (this.#ended.size >= endedSessionsMax) {
      this.#secret = freshKey();
      this.#ended.clear();
    }
    this.#ended.set(name, expiresAtMs);
    this.#write();
  }

  #read(): Readonly<Record<string, unknown>> {
    try {
      const json = decodeJsonObject(readFileSync(this.#path));
      return json.ok ? json.value : {};
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw error;
    }
  }

  /** Replaced as a whole. */
  #write(): void {
    const own = `${this.#path}.${randomUUID()}`;
    const text = JSON.stringify({ key: this.#secret, ended: Object.fromEntries(this.#ended) });
    writeFileSync(own, `${text}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(own, this.#path);
  }
}

function freshKey(): string {
  return randomBytes(keyBytes).toString('base64url');
}
