/**
 * Detects devices whose connections keep replacing each other: two modules with one id, or a stolen secret. Backends receive one
 * event per minute, operators one log line with the addresses, and a row among the refused logins. Source: docs/events.md, Two that
 * share an id.
 */
import { plainAddress } from '../../lib/connections/address-key.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { EventDraft } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import type { RefusedLogins } from './refused-logins.ts';

/** Minimum replaced sessions of one device within a period that count as a conflict; also the interval of reports. */
const conflictReplacementsMin = 5;
export const conflictPeriodMs = 60_000;
const conflictDevicesMax = 10_000;

export interface SessionConflictsDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly append: (event: EventDraft) => void;
  readonly refusedLogins: Pick<RefusedLogins, 'recordConflict'>;
}

export interface Replacement {
  readonly connection: ConnectionKind;
  readonly deviceId: DeviceId;
  /** Epoch of the session that replaced the other. */
  readonly epoch: number;
  /** Address of its peer; empty: already disconnected. */
  readonly address: string;
}

interface Replacements {
  /** Monotonic: of the first counted replacement, or of the latest report. */
  readonly sinceMs: number;
  readonly isReported: boolean;
  readonly count: number;
  readonly addresses: readonly string[];
}

export class SessionConflicts {
  readonly #deps: SessionConflictsDeps;
  readonly #max: number;
  readonly #known = new Map<string, Replacements>();

  /** `max`: connections counted; beyond it the one with the oldest replacement is dropped. */
  constructor(deps: SessionConflictsDeps, max = conflictDevicesMax) {
    this.#deps = deps;
    this.#max = max;
  }

  replaced(replacement: Replacement): void {
    const key = `${replacement.connection} ${replacement.deviceId}`;
    const nowMs = this.#deps.clock.monotonicMs();
    const counted = countOne(this.#known.get(key), nowMs, plainAddress(replacement.address));
    const isDue = !counted.isReported || nowMs - counted.sinceMs >= conflictPeriodMs;
    const isConflict = isDue && counted.count >= conflictReplacementsMin;
    this.#known.delete(key);
    this.#sweep(nowMs);
    this.#known.set(key, isConflict ? { ...counted, sinceMs: nowMs, isReported: true, count: 0 } : counted);
    if (isConflict) this.#report(replacement, counted);
  }

  #report({ connection, deviceId, epoch }: Replacement, { count, addresses }: Replacements): void {
    const { clock, log, append, refusedLogins } = this.#deps;
    const latest = [...new Set(addresses)];
    log.warn(
      { device_id: deviceId, connection, replacements: count, addresses: latest },
      'device: its connections keep replacing each other',
    );
    refusedLogins.recordConflict(connection, deviceId, count, latest);
    const data = { connection, replacements: count };
    append({ type: 'device.conflict', data, deviceId, atMs: clock.wallMs(), epoch });
  }

  #sweep(nowMs: number): void {
    for (const [key, { sinceMs }] of this.#known) {
      if (nowMs - sinceMs < 2 * conflictPeriodMs && this.#known.size < this.#max) return;
      this.#known.delete(key);
    }
  }
}

/** Counting restarts after a minute; after a report, only if that minute had too few replacements. */
function countOne(known: Replacements | undefined, nowMs: number, address: string): Replacements {
  if (known === undefined || isOver(known, nowMs))
    return { sinceMs: nowMs, isReported: false, count: 1, addresses: [address] };
  return { ...known, count: known.count + 1, addresses: [...known.addresses.slice(-1), address] };
}

function isOver({ sinceMs, isReported, count }: Replacements, nowMs: number): boolean {
  const continues = isReported && count + 1 >= conflictReplacementsMin;
  return nowMs - sinceMs >= (continues ? 2 * conflictPeriodMs : conflictPeriodMs);
}
