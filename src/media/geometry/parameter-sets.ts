/**
 * Parameter sets of an H.264 or H.265 stream: keeps the latest one of each id, and puts those of an access unit into the order that a
 * decoder needs. Senders repeat some, all or none, in any order, in access units of their own or after slices. Source: ITU-T H.264,
 * 7.4.1.2.1, and H.265, 7.4.2.4.2.
 */
import { parameterSetBytesMax, parameterSetsMax } from '../../model/media/decoding-limits.ts';
import { isSlice, type NalSyntax, splitNalUnits } from './nal-units.ts';

interface ParameterSet {
  /** A decoder needs sets of a lower rank first; each type has its own rank. */
  readonly rank: number;
  readonly bytes: Uint8Array;
}

const startCode = Buffer.of(0, 0, 1);

export class ParameterSets {
  readonly #syntax: NalSyntax;
  /** By rank and id; latest last. */
  readonly #sets = new Map<string, ParameterSet>();

  constructor(syntax: NalSyntax) {
    this.#syntax = syntax;
  }

  /** Keeps the sets of an access unit. True: one of them is new or has changed; false for the first access unit with sets. */
  store(bytes: Uint8Array): boolean {
    const isFirst = this.#sets.size === 0;
    let hasChanged = false;
    for (const unit of splitNalUnits(bytes))
      if (this.#isSet(unit)) hasChanged = this.#storeSet(unit) || hasChanged;
    return hasChanged && !isFirst;
  }

  get all(): Uint8Array<ArrayBuffer> {
    return joined(Array.from(this.#sets.values()));
  }

  /** The access unit with the sets before its first slice in order. */
  ordered(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const sets: ParameterSet[] = [];
    const rest: Uint8Array[] = [];
    let isOrdered = true;
    let hasSlice = false;
    for (const unit of splitNalUnits(bytes)) {
      hasSlice ||= isSlice(this.#syntax.kindOf(unit, 0));
      if (hasSlice && isOrdered) return bytes;
      if (hasSlice || !this.#isSet(unit)) rest.push(startCode, unit);
      else {
        const { rank } = this.#syntax.setOf(unit);
        isOrdered &&= rank >= (sets.at(-1)?.rank ?? 0);
        sets.push({ rank, bytes: unit });
      }
    }
    return isOrdered ? bytes : Buffer.concat([joined(sets), ...rest]);
  }

  #isSet(unit: Uint8Array): boolean {
    const kind = this.#syntax.kindOf(unit, 0);
    return (kind === 'sequence' || kind === 'parameters') && unit.length <= parameterSetBytesMax;
  }

  #storeSet(unit: Uint8Array): boolean {
    const { rank, id } = this.#syntax.setOf(unit);
    const key = `${rank} ${id}`;
    const known = this.#sets.get(key);
    const isKnown = known !== undefined && Buffer.compare(known.bytes, unit) === 0;
    this.#sets.delete(key);
    this.#sets.set(key, isKnown ? known : { rank, bytes: unit.slice() });
    const [oldest] = this.#sets.keys();
    if (this.#sets.size > parameterSetsMax && oldest !== undefined) this.#sets.delete(oldest);
    return !isKnown;
  }
}

function joined(sets: readonly ParameterSet[]): Uint8Array<ArrayBuffer> {
  const ordered = sets.toSorted((one, other) => one.rank - other.rank);
  return Buffer.concat(ordered.flatMap(({ bytes }) => [startCode, bytes]));
}
