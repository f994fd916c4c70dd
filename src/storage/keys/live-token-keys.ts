/**
 * The keys of calls' tokens in a running server: those of the file, imported, and changed in both places. What an
 * operator asks for and SIGHUP go one after the other, so that the last change is the one that is live.
 */
import { join } from 'node:path';
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import type { Result } from '../../lib/result.ts';
import { SerialQueue } from '../../lib/queues.ts';
import { TokenKeys } from '../../protocol/call-token/token-keys.ts';
import type { Log } from '../../core/ports/log.ts';
import { StoreOpenError } from '../lmdb/store-open-error.ts';
import {
  TokenKeyFile,
  type StoredTokenKeys,
  type TokenKeyRotation,
  type StoredTokenKey,
} from './token-key-file.ts';

export interface LiveTokenKeysDeps {
  readonly file: TokenKeyFile;
  readonly clock: Clock;
  readonly log: Log;
}

export interface TokenKeySettings {
  readonly calls: { readonly token_keys_file: string | null };
  readonly data: { readonly dir: string };
}

/** Where the keys are, by the settings. */
export function tokenKeyFileOf({ calls, data }: TokenKeySettings): TokenKeyFile {
  return new TokenKeyFile(calls.token_keys_file ?? join(data.dir, 'token-keys.json'));
}

export class LiveTokenKeys {
  /** For who signs and checks: always those that are live. */
  readonly keys: TokenKeys;
  readonly #deps: LiveTokenKeysDeps;
  #stored: readonly StoredTokenKey[];
  readonly #turns = new SerialQueue();
  #changed: () => void = () => undefined;

  private constructor(deps: LiveTokenKeysDeps, keys: TokenKeys, stored: readonly StoredTokenKey[]) {
    this.#deps = deps;
    this.keys = keys;
    this.#stored = stored;
  }

  /** Makes the file where there is none. Rejects with a StoreOpenError when it cannot be used. */
  static async open(deps: LiveTokenKeysDeps): Promise<LiveTokenKeys> {
    const stored = await deps.file.ensure(wallSeconds(deps.clock));
    warnIfOpen(deps, stored);
    return new LiveTokenKeys(deps, new TokenKeys(stored.keys), stored.keys);
  }

  /** Those that are live, the one that signs first. */
  get stored(): readonly StoredTokenKey[] {
    return this.#stored;
  }

  /** Told of every change behind it; one listens. */
  onChange(changed: () => void): void {
    this.#changed = changed;
  }

  /** SIGHUP. Never rejects: what is wrong with the file is logged, and what is live stays. */
  async reload(): Promise<void> {
    try {
      await this.#turns.run(() => this.#readAgain());
    } catch (error) {
      this.#deps.log.error({ err: error }, 'token keys not read again; those that are live stay');
    }
  }

  /** Rejects with a StoreOpenError, and changes nothing, when the file cannot be read or written. */
  rotate(): Promise<TokenKeyRotation> {
    return this.#turns.run(async () => {
      const rotation = await this.#deps.file.rotate(wallSeconds(this.#deps.clock));
      this.#adopt(rotation.keys, 'token keys rotated');
      return rotation;
    });
  }

  /** The keys that are left. Rejects like `rotate`. */
  retire(kid: string): Promise<Result<readonly StoredTokenKey[], 'unknown' | 'last'>> {
    return this.#turns.run(async () => {
      const left = await this.#deps.file.retire(kid);
      if (left.ok) this.#adopt(left.value, 'token key retired');
      return left;
    });
  }

  async #readAgain(): Promise<void> {
    const found = await this.#deps.file.find();
    if (found === null) throw new StoreOpenError(`there is no file ${this.#deps.file.path} any more`);
    warnIfOpen(this.#deps, found);
    this.#adopt(found.keys, 'token keys read again');
  }

  #adopt(keys: readonly StoredTokenKey[], message: string): void {
    this.keys.replace(keys);
    this.#stored = keys;
    this.#changed();
    this.#deps.log.info({ kids: keys.map(({ kid }) => kid) }, message);
  }
}

function warnIfOpen({ file, log }: LiveTokenKeysDeps, { openMode }: StoredTokenKeys): void {
  if (openMode === null) return;
  const fields = { file: file.path, mode: openMode.toString(8) };
  log.warn(fields, 'the keys of tokens can be read by others: close the file to them, and rotate');
}
