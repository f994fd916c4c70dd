/**
 * Refused logins, with the reason that the device never reads, and devices whose sessions keep replacing each other: for
 * operators, in memory only and since the start of the core. A row for each device, port and reason counts its repeats. Strangers
 * can make up ids without end, so rows of ids that the registry does not have push out their own kind alone, those of one address first.
 * Source: docs/running.md, Refused logins.
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
  /** The peer's address; empty: the peer is gone already. */
  readonly address: string;
}

/** The refused logins of one device at one port for one reason; of a conflict, the replaced sessions. */
export interface RefusedLogin {
  readonly deviceId: DeviceId;
  /** The first application of the device's product; null: none, or the device is unknown. */
  readonly appId: ApplicationId | null;
  readonly connection: ConnectionKind;
  readonly reason: LoginTrouble;
  readonly count: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** The latest two, the latest last. */
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

  /** Rows that were dropped for want of room. */
  get forgotten(): number {
    return this.#ofDevices.forgotten + this.#ofUnknownIds.forgotten;
  }

  /** `device` null: the registry does not have it. Never throws. */
  record({ connection, deviceId, reason, address }: Refusal, device: Device | null): void {
    this.#deps.telemetry.refusedLogin(reason);
    const from = plainAddress(address);
    this.#lines[reason].record(() => ({
      reason,
      connection,
      from,
      // An id that the registry does not have is a stranger's text: it gets into no log.
      ...(device !== null && { device_id: deviceId }),
    }));
    this.#count({ connection, deviceId, reason }, device, 1, [from]);
  }

  /** `addresses`: of the peers that replaced each other, the latest last. Never throws. */
  recordConflict(
    connection: ConnectionKind,
    deviceId: DeviceId,
    count: number,
    addresses: readonly string[],
  ): void {
    const device = this.#read((registry) => registry.peekDevice(deviceId));
    this.#count({ connection, deviceId, reason: 'conflict' }, device, count, addresses);
  }

  /** The latest first. */
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

  /** Rows are changed in place: copies of them are most of what a refusal costs. */
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

  /** Null also where the store cannot be read: a trace changes no answer. */
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
