/**
 * The port to one bucket that all nodes share: values by key, and revisions by which one of two writers wins. Each method
 * rejects with SharedStateUnavailable while NATS is unavailable or does not answer in time; a write that rejects may have
 * been made. Source: cluster.md, Ownership.
 */
import type { Cancel } from '../../lib/clock.ts';

export interface KvEntry {
  readonly key: string;
  /** Empty where the key was removed. */
  readonly value: Uint8Array;
  /** Counts the writes to all keys of the bucket. */
  readonly revision: number;
}

export interface KvChange extends KvEntry {
  readonly isRemoved: boolean;
  /** By the clock of NATS. */
  readonly writtenAtMs: number;
}

export interface KvStore {
  /** As it was last written by anyone; null: it never was. */
  find(key: string): Promise<KvEntry | null>;
  /** Returns the new revision. Puts take effect in the order of their calls. */
  put(key: string, value: Uint8Array): Promise<number>;
  /** Returns the new revision; null: the key is not at `revision` any more (null: it was never written). */
  compareAndSet(key: string, value: Uint8Array, revision: number | null): Promise<number | null>;
  /** Leaves an empty value. False: the key is not at `revision` any more (null: whichever it has). */
  remove(key: string, revision: number | null): Promise<boolean>;
  /** Erases all keys that begin with `prefix` and a dot, without a trace. */
  eraseAll(prefix: string): Promise<void>;
  /** Erases what was written as `revision`, without a trace, also where nothing is there. */
  erase(revision: number): Promise<void>;
  /** The newest revision of all keys. */
  position(): Promise<number>;
  /** Entries written behind `position`, the latest of each key, in their order; ends with what was there at the call. */
  since(position: number): AsyncIterable<KvEntry>;
  /** Every key that there was at the call, some of them more than once: the last value is the newest. */
  all(): AsyncIterable<KvEntry>;
  /** Calls `onChange` for the latest of each key, then for each change. Resolves when none will be missed. */
  watch(onChange: (change: KvChange) => void): Promise<Cancel>;
}
