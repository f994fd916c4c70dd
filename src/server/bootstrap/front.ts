/**
 * What devices and callers reach: the sleep and the signal port and the API, how they open, drain and close. Several
 * processes of one server each have it, on the same ports.
 */
import type { Cancel } from '../../lib/clock.ts';
import { HeartbeatSaver } from '../../core/devices/heartbeat-saver.ts';
import { ApiListener } from '../../gateways/api/listener.ts';
import { expelEverybody } from '../../core/devices/expel-device.ts';
import { composeApi, type Api, type ApiCalls } from './api.ts';
import { composeDeviceDoors, type DeviceDoors } from './doors.ts';
import type { House } from './house.ts';
import type { ProcessPlace } from '../supervisor/process-company.ts';
import { apiListenerSettings } from '../config/room-settings.ts';
import { formatListenAddress } from '../config/settings-values.ts';

export interface FrontParts {
  /** Asked when it begins to listen. */
  readonly calls: () => ApiCalls;
  /** Among other processes of this server, behind the same ports; null: nobody else has them. */
  readonly place: ProcessPlace | null;
}

export class Front {
  readonly doors: DeviceDoors;
  readonly #house: House;
  readonly #parts: FrontParts;
  readonly #saver: HeartbeatSaver;
  #stopSaving: Cancel = () => undefined;
  #api: Api | null = null;
  #apiListener: ApiListener | null = null;

  /** Throws when TLS is asked for and its files are not in order. */
  constructor(house: House, parts: FrontParts) {
    this.#house = house;
    this.#parts = parts;
    this.#saver = new HeartbeatSaver(house.directory);
    this.doors = composeDeviceDoors(house, parts.place);
  }

  /** Resolves to real addresses. Callers are let in behind `others`, with everything they may ask for in place. */
  async listen(others: Promise<unknown>): Promise<Readonly<Record<'api' | 'sleep' | 'signal', string>>> {
    const { settings, clock } = this.#house;
    const { calls, place } = this.#parts;
    this.#api = await composeApi(settings, { ...this.#house, calls: calls() });
    const apiSettings = { ...apiListenerSettings(settings), sharesPort: place !== null };
    this.#apiListener = new ApiListener(apiSettings, this.#api.pipeline, this.#house.connections.api);
    await this.doors.sleep.listen();
    await this.doors.signal.listen();
    await others;
    this.#stopSaving = this.#saver.start(clock);
    const apiPort = await this.#apiListener.listen();
    return {
      api: formatListenAddress({ host: settings.api.listen.host, port: apiPort }),
      sleep: formatListenAddress(this.doors.sleep.address),
      signal: formatListenAddress(this.doors.signal.address),
    };
  }

  /** Failures are logged and change nothing. */
  reloadTls(): void {
    for (const [name, door] of Object.entries({ ...this.doors, api: this.#apiListener }))
      try {
        door?.reloadTls();
      } catch (error) {
        this.#house.log.error(
          { err: error, listener: name },
          'certificate not reloaded; the one in force stays',
        );
      }
  }

  /** Who waits for an event or an outcome is answered now. */
  endWaits(): void {
    this.#api?.endWaits();
  }

  /** `isHurried`: nobody would see to it that a drain ends. */
  async drain(isHurried: boolean): Promise<void> {
    if (!isHurried) await Promise.all([this.#drain('sleep'), this.#drain('signal')]);
    // What the deadline left: their sockets go with the process, their records must not say they are open.
    expelEverybody(this.#house, 'drain');
  }

  /** Resolves when every request that was taken is answered. */
  async finish(): Promise<void> {
    this.#apiListener?.stopListening();
    await this.#api?.pipeline.idle();
  }

  /** What was observed is in the records, and no socket is left. */
  async close(): Promise<void> {
    this.#apiListener?.close();
    this.#stopSaving();
    this.#saver.saveAll();
    this.doors.signal.close();
    await this.doors.sleep.close();
    await this.#api?.close();
  }

  async #drain(door: keyof DeviceDoors): Promise<void> {
    const { settings, log } = this.#house;
    const { drain_per_second: rate, drain_deadline_ms: deadlineMs } = settings[door];
    const left = await this.doors[door].drain(rate, deadlineMs);
    if (left > 0) log.warn({ left, listener: door }, 'sessions left to the kernel');
  }
}
