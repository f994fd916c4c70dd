/**
 * Buckets of NATS as the ownership of devices needs them: values with revisions, and the order in which they were
 * written. Everything rejects while NATS is away.
 */
export interface KeptValue {
  readonly bytes: Uint8Array;
  readonly revision: number;
}

export interface RowBucket {
  /** As it was last written by anyone; null: it never was. */
  get(key: string): Promise<KeptValue | null>;
  /**
   * The new revision; null when another has written it since `revision`, 0: since it was never written. When it rejects
   * it may have been written.
   */
  put(key: string, bytes: Uint8Array, revision: number): Promise<number | null>;
  /** The newest revision of all keys. */
  position(): Promise<number>;
  /** Values written behind a position, the latest of each key, in their order; ends with what was there at the call. */
  since(position: number): AsyncIterable<KeptValue>;
}

export interface HeartbeatBucket {
  get(key: string): Promise<KeptValue | null>;
  set(key: string, bytes: Uint8Array): Promise<void>;
  /** All keys that begin with `prefix` and a dot, without a trace. */
  removeAll(prefix: string): Promise<void>;
}
