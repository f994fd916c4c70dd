/**
 * The end of a change that takes long, decided once between the thread that makes it and the one that may call it off: it is
 * either committed or cancelled, and both know which.
 */
const open = 0;
const cancelled = 1;
const committing = 2;

export class CommitSwitch {
  /** Shared memory, to be handed to the other thread. */
  readonly shared: Int32Array<SharedArrayBuffer>;

  constructor(shared = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))) {
    this.shared = shared;
  }

  /** False: it is too late, the change is being committed or is in. */
  cancel(): boolean {
    return Atomics.compareExchange(this.shared, 0, open, cancelled) !== committing;
  }

  get isCancelled(): boolean {
    return Atomics.load(this.shared, 0) === cancelled;
  }

  /** The last step inside the transaction. False: it was cancelled, and has to be undone. */
  commit(): boolean {
    return Atomics.compareExchange(this.shared, 0, open, committing) === open;
  }
}
