/**
 * Decides between two threads whether a long change is committed or cancelled: exactly one of the two happens, and both threads know
 * which.
 */
const open = 0;
const cancelled = 1;
const committing = 2;

export class CommitSwitch {
  readonly shared: Int32Array<SharedArrayBuffer>;

  constructor(shared = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))) {
    this.shared = shared;
  }

  /** False: too late, the change is committed or about to be. */
  cancel(): boolean {
    return Atomics.compareExchange(this.shared, 0, open, cancelled) !== committing;
  }

  get isCancelled(): boolean {
    return Atomics.load(this.shared, 0) === cancelled;
  }

  /** Call as the last step of the transaction. False: cancelled; abort the transaction. */
  commit(): boolean {
    return Atomics.compareExchange(this.shared, 0, open, committing) === open;
  }
}
