/** The number of devices of each product, kept in the transaction of every change, so that a limit need not count them. */
import { unpackOwn } from '../../lib/plain-msgpack.ts';
import type { ProductId } from '../../model/ids.ts';
import { countEntries, type Environment, type Table } from '../lmdb/environment.ts';
import type { Row } from './registry-kinds.ts';

export class DeviceCounts {
  readonly #byProduct: Table<number>;

  /** Null: the store is read-only, and was last written by a release that did not count. */
  static find(environment: Environment): DeviceCounts | null {
    const byProduct = environment.findTable<number>('registry-device-counts');
    return byProduct === null ? null : new DeviceCounts(byProduct);
  }

  private constructor(byProduct: Table<number>) {
    this.#byProduct = byProduct;
  }

  of(productId: ProductId): number {
    return this.#byProduct.get(Buffer.from(productId)) ?? 0;
  }

  /** Inside a transaction of the registry only. Null: the device is not there. */
  changed(before: Buffer | null, after: Buffer | null): void {
    const [from, to] = [productOf(before), productOf(after)];
    if (from === to) return;
    if (from !== null) this.#add(from, -1);
    if (to !== null) this.#add(to, 1);
  }

  /** Counts all devices where a release that does not count has changed the store. Blocks for 1 s per million. */
  complete(environment: Environment, devices: Table<Row>): void {
    if (this.#total() === countEntries(devices)) return;
    environment.transactionSync(() => {
      const counts = new Map<string, number>();
      for (const { value } of devices.getRange()) {
        const productId = String(value[0]);
        counts.set(productId, (counts.get(productId) ?? 0) + 1);
      }
      for (const key of Array.from(this.#byProduct.getKeys())) void this.#byProduct.remove(key);
      for (const [productId, count] of counts) void this.#byProduct.put(Buffer.from(productId), count);
    });
  }

  #total(): number {
    let total = 0;
    for (const { value } of this.#byProduct.getRange()) total += value;
    return total;
  }

  #add(productId: string, change: number): void {
    const key = Buffer.from(productId);
    const count = (this.#byProduct.get(key) ?? 0) + change;
    void (count > 0 ? this.#byProduct.put(key, count) : this.#byProduct.remove(key));
  }
}

/** The first value of a device's row. */
function productOf(row: Buffer | null): string | null {
  return row === null ? null : String((unpackOwn(row) as Row)[0]);
}
