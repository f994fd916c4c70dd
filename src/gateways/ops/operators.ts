/**
 * The tokens that are valid now: `ops.token`, and the named ones of the file, changed in memory and in the file together.
 * The last use of a named one is written later, at most once a minute.
 */
import { timingSafeEqual } from 'node:crypto';
import { wallSeconds, type Cancel, type Clock } from '../../lib/clock.ts';
import type { Result } from '../../lib/result.ts';
import { SerialQueue } from '../../lib/queues.ts';
import { opsTokenUseWriteMs } from '../../model/limits.ts';
import { localOperator, type Operator } from '../../model/audit.ts';
import type { Log } from '../../core/ports/log.ts';
import {
  hashOpsToken,
  type FreshOpsToken,
  type OpsTokenFile,
  type OpsTokenRefusal,
  type StoredOpsToken,
} from '../../storage/keys/ops-token-file.ts';

export interface OperatorsDeps {
  readonly file: OpsTokenFile;
  /** The text of `ops.token`. */
  readonly localToken: string;
  readonly clock: Clock;
  readonly log: Log;
}

interface Holder extends Operator {
  readonly hash: Buffer;
  readonly sha256: string;
}

export class Operators {
  readonly #deps: OperatorsDeps;
  readonly #local: Holder;
  #tokens: readonly StoredOpsToken[] = [];
  #holders: readonly Holder[];
  /** Uses that are not written yet, in Unix seconds by hash. */
  readonly #uses = new Map<string, number>();
  #writtenMs = -Infinity;
  #cancelWrite: Cancel | null = null;
  readonly #changes = new SerialQueue();

  constructor(deps: OperatorsDeps) {
    this.#deps = deps;
    const hash = hashOpsToken(deps.localToken);
    this.#local = { ...localOperator, hash, sha256: hash.toString('hex') };
    this.#holders = [this.#local];
  }

  /** Rejects with a StoreOpenError when the file cannot be used. */
  async open(): Promise<void> {
    await this.#changes.run(async () => this.#adopt(await this.#deps.file.read()));
  }

  /** Null: the token is not valid now. */
  identify(token: string): Operator | null {
    const hash = hashOpsToken(token);
    // All are compared, each in constant time, so that how long it takes tells nothing.
    let found: Holder | null = null;
    for (const holder of this.#holders) if (timingSafeEqual(holder.hash, hash)) found = holder;
    if (found === null) return null;
    if (found !== this.#local) this.#noteUse(found.sha256);
    return { name: found.name, role: found.role };
  }

  /** The named ones, in the order they were made, with uses that are not written yet. */
  get stored(): readonly StoredOpsToken[] {
    return this.#tokens.map((token) => {
      return { ...token, lastUsedAtS: this.#uses.get(token.sha256) ?? token.lastUsedAtS };
    });
  }

  /** Rejects with a StoreOpenError, and changes nothing, when the file cannot be read or written. */
  create(operator: Operator): Promise<Result<FreshOpsToken, OpsTokenRefusal>> {
    return this.#changes.run(async () => {
      const created = await this.#deps.file.create(operator, wallSeconds(this.#deps.clock));
      if (created.ok) this.#adopt(created.value.tokens);
      return created;
    });
  }

  /** False: there is none of this name. Rejects like `create`. */
  revoke(name: string): Promise<boolean> {
    return this.#changes.run(async () => {
      const left = await this.#deps.file.revoke(name);
      if (left !== null) this.#adopt(left);
      return left !== null;
    });
  }

  /** SIGHUP. Never rejects: an error in the file is logged, and the valid tokens stay. */
  async reload(): Promise<void> {
    try {
      await this.open();
    } catch (error) {
      this.#deps.log.error({ err: error }, "operators' tokens not read again; those that are live stay");
    }
  }

  /** Resolves when the latest uses are written. */
  async close(): Promise<void> {
    this.#cancelWrite?.();
    if (this.#uses.size > 0) await this.#writeUses();
  }

  #adopt(tokens: readonly StoredOpsToken[]): void {
    this.#tokens = tokens;
    this.#holders = [
      this.#local,
      ...tokens.map(({ name, role, sha256 }) => ({ name, role, sha256, hash: Buffer.from(sha256, 'hex') })),
    ];
  }

  #noteUse(sha256: string): void {
    const { clock } = this.#deps;
    this.#uses.set(sha256, wallSeconds(clock));
    if (this.#cancelWrite !== null) return;
    const delayMs = Math.max(0, this.#writtenMs + opsTokenUseWriteMs - clock.monotonicMs());
    this.#cancelWrite = clock.after(delayMs, () => void this.#writeUses());
  }

  async #writeUses(): Promise<void> {
    this.#cancelWrite = null;
    this.#writtenMs = this.#deps.clock.monotonicMs();
    const uses = new Map(this.#uses);
    try {
      await this.#changes.run(async () => this.#adopt(await this.#deps.file.noteUses(uses)));
      // Not those that were used again meanwhile.
      for (const [sha256, atS] of uses) if (this.#uses.get(sha256) === atS) this.#uses.delete(sha256);
    } catch (error) {
      this.#deps.log.error({ err: error }, 'the last use of tokens is not written; tried again at the next');
    }
  }
}
