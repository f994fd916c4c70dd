/**
 * Refused logins with their internal reason, and devices whose sessions keep replacing each other: for operators, in memory, since
 * the start of the core. One row per device, port and reason counts repeats. Unknown ids, which strangers can invent without limit,
 * have rows of their own, and displace only each other, those of the same address first. Source: docs/running.md, Refused logins.
 */
import type { Clock } from '../../lib/clock.ts';
import { addressKey, plainAddress } from '../../lib/connections/address-key.ts';
import type { Log } from '../../lib/log.ts';
import { RefusalLine } from '../../lib/throttle.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import { loginRefusals, type LoginRefusal, type LoginTrouble } from '../../model/connectivity.ts';
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import {
  refusalLogMs,
  refusedLoginsMax,
  refusedLoginsPerApplicationMax,
  unknownLoginsMax,
  unknownLoginsPerAddressMax,
} from '../../model/limits.ts';
import type { Device } from '../../model/registry.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import { RecentByOwner } from '../requests/recent-by-owner.ts';

export interface RefusedLoginsDeps {
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly telemetry: Pick<Telemetry, 'refusedLogin'>;
  readonly registry: Pick<RegistryReader, 'findProduct' | 'peekDevice'>;
}

export interface Refusal {
  readonly connection: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly reason: LoginRefusal;
  /** The peer's address; empty: already disconnected. */
  readonly address: string;
}

/** Refused logins of one device at one port for one reason; for a conflict, replaced sessions. */
export interface RefusedLogin {
  readonly deviceId: DeviceId;
  /** The first application of the device's product; null: none, or unknown device. */
  readonly appId: ApplicationId | null;
  readonly connection: ConnectionKind;
  readonly reason: LoginTrouble;
  readonly count: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** The latest two, newest last. */
  readonly addresses: readonly string[];
}

type Row = { -readonly [Key in keyof RefusedLogin]: RefusedLogin[Key] };

export interface RefusedFilter {
  readonly deviceId?: DeviceId | undefined;
  readonly connection?: ConnectionKind | undefined;
  readonly reason?: LoginTrouble | undefined;
}

const addressesMax = 2;

export class RefusedLogins {
  readonly #deps: RefusedLoginsDeps;
  readonly #ofDevices = new RecentByOwner<string, Row>({
    max: refusedLoginsMax,
    ofOwnerMax: refusedLoginsPerApplicationMax,
  });
  readonly #ofUnknownIds = new RecentByOwner<string, Row>({
    max: unknownLoginsMax,
    ofOwnerMax: unknownLoginsPerAddressMax,
  });
  readonly #lines: Readonly<Record<LoginRefusal, RefusalLine>>;

  constructor(deps: RefusedLoginsDeps) {
    this.#deps = deps;
    const line = (): RefusalLine => new RefusalLine(deps.clock, deps.log, 'login refused', refusalLogMs);
    this.#lines = Object.fromEntries(loginRefusals.map((reason) => [reason, line()])) as Record<
      LoginRefusal,
      RefusalLine
    >;
  }

  get forgotten(): number {
    return this.#ofDevices.forgotten + this.#ofUnknownIds.forgotten;
  }

  /** `device` null: not in the registry. Never throws. */
  record({ connection, deviceId, reason, address }: Refusal, device: Device | null): void {
    this.#deps.telemetry.refusedLogin(reason);
    const from = plainAddress(address);
    this.#lines[reason].record(() => ({
      reason,
      connection,
      from,
      // An unknown id is a stranger's text, which must not get into the log.
      ...(device !== null && { device_id: deviceId }),
    }));
    this.#count({ connection, deviceId, reason }, device, 1, [from]);
  }

  /** `addresses`: of the peers that replaced each other, newest last. Never throws. */
  recordConflict(
    connection: ConnectionKind,
    deviceId: DeviceId,
    count: number,
    addresses: readonly string[],
  ): void {
    const device = this.#read((registry) => registry.peekDevice(deviceId));
    this.#count({ connection, deviceId, reason: 'conflict' }, device, count, addresses);
  }

  list({ deviceId, connection, reason }: RefusedFilter): readonly RefusedLogin[] {
    return [...this.#ofDevices.items(), ...this.#ofUnknownIds.items()]
      .filter(
        (row) =>
          (deviceId === undefined || row.deviceId === deviceId) &&
          (connection === undefined || row.connection === connection) &&
          (reason === undefined || row.reason === reason),
      )
      .sort((one, other) => other.lastAtMs - one.lastAtMs);
  }

  /** Mutates rows: copies would be most of the cost of a refusal. */
  #count(
    { connection, deviceId, reason }: Pick<RefusedLogin, 'connection' | 'deviceId' | 'reason'>,
    device: Device | null,
    count: number,
    addresses: readonly string[],
  ): void {
    const nowMs = this.#deps.clock.wallMs();
    const kept = device === null ? this.#ofUnknownIds : this.#ofDevices;
    const product = device && this.#read((registry) => registry.findProduct(device.productId));
    const appId = product?.appIds[0] ?? null;
    const owner = device === null ? addressKey(addresses.at(-1) ?? '') : (appId ?? device.productId);
    const key = `${connection} ${reason} ${deviceId}`;
    const row = kept.find(owner, key) ?? {
      deviceId,
      appId,
      connection,
      reason,
      count: 0,
      firstAtMs: nowMs,
      lastAtMs: nowMs,
      addresses: [],
    };
    row.count += count;
    row.lastAtMs = nowMs;
    for (const address of addresses) addAddress(row, address);
    kept.put(owner, key, row);
  }

  /** Null also when the store cannot be read: a diagnostic row must not change an answer. */
  #read<Entry>(find: (registry: RefusedLoginsDeps['registry']) => Entry | null): Entry | null {
    try {
      return find(this.#deps.registry);
    } catch {
      return null;
    }
  }
}

function addAddress(row: Row, address: string): void {
  const { addresses } = row;
  if (address === '' || addresses.at(-1) === address) return;
  row.addresses = [...addresses.filter((known) => known !== address), address].slice(-addressesMax);
}
