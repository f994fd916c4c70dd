/** Rows of a turn as one buffer, which moves to the other thread. */
import { Packr } from 'msgpackr';

/** `moreTypes`: what a route's parameters may hold beside plain values. */
const packr = new Packr({ moreTypes: true });

/** A buffer of its own, to be handed over. */
export function packRows(rows: readonly unknown[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(packr.pack(rows));
}

/** `rows`: of `packRows`. Bytes in them are parts of it. */
export function unpackRows<Row>(rows: Uint8Array): readonly Row[] {
  return packr.unpack(rows) as readonly Row[];
}
