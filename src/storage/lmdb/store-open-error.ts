/** Why a store cannot be opened: one sentence for the operator, with what to do. The process cannot go on without. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
}
