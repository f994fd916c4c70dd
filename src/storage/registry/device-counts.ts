/** Number of devices of each product, updated in the transaction of every change, so that a limit need not count them. */
import { unpackOwn } from '../../lib/plain-msgpack.ts';
import type { ProductId } from '../../model/ids.ts';
import type { Environment, Table } from '../lmdb/environment.ts';
import type { Row } from './registry-kinds.ts';

export class DeviceCounts {
  readonly #byProduct: Table<number>;

  constructor(environment: Environment) {
    this.#byProduct = environment.table('registry-device-counts');
  }

  of(productId: ProductId): number {
    return this.#byProduct.get(Buffer.from(productId)) ?? 0;
  }

  /** Inside a transaction of the registry only. Null: no such device. */
  changed(before: Buffer | null, after: Buffer | null): void {
    const [from, to] = [productOf(before), productOf(after)];
    if (from === to) return;
    if (from !== null) this.#add(from, -1);
    if (to !== null) this.#add(to, 1);
  }

  #add(productId: string, change: number): void {
    const key = Buffer.from(productId);
    const count = (this.#byProduct.get(key) ?? 0) + change;
    void (count > 0 ? this.#byProduct.put(key, count) : this.#byProduct.remove(key));
  }
}

function productOf(row: Buffer | null): string | null {
  return row === null ? null : String((unpackOwn(row) as Row)[0]);
}
