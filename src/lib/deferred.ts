/** A promise that is resolved or rejected from outside. */
export interface Deferred<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: Error) => void;
}

export function deferred<Value = void>(): Deferred<Value> {
  let resolve: Deferred<Value>['resolve'] = () => undefined;
  let reject: Deferred<Value>['reject'] = () => undefined;
  const promise = new Promise<Value>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  return { promise, resolve, reject };
}
