/** Once a second a new client connects to every listener, each time from another address, and must be served. */
import { setTimeout as sleep } from 'node:timers/promises';
import { SignalController } from '../../../src/tools/simulator/signal-controller.ts';
import { SleepingModule } from '../../../src/tools/simulator/sleeping-module.ts';
import { plainRequest } from '../../support/media-peer.ts';
import { encodeRequest, statusOf } from '../../support/raw-requests.ts';
import type { ListenerPorts } from '../../support/server-process.ts';
import { siteCredential as credential, siteDevice, siteIdentity } from '../../support/site-server.ts';
import { newcomers } from './registry.ts';

/**
 * Timeout that catches hangs and leaves time for retries: Node accepts one connection per listener and turn of its event loop,
 * and the crowds wait in the same queue. Attackers and server share the CPUs, so a turn may take 100 ms.
 */
const servedMsMax = 60_000;
const againMs = 100;
/** Maximum share of visits whose connection is closed before it is served. */
const repeatedShareMax = 0.1;

export class Newcomers {
  came = 0;
  readonly #complaints: string[] = [];
  readonly #ports: ListenerPorts;
  readonly #first: number;
  #visits = 0;
  #repeated = 0;
  #slowestMs: Record<string, number> = {};

  constructor(ports: ListenerPorts, first: number) {
    this.#ports = ports;
    this.#first = first;
  }

  /** Resolves when all listeners have served a client, or failed. */
  async visit(): Promise<void> {
    this.came += 1;
    const from = `127.1.${1 + (Math.floor(this.came / 250) % 250)}.${1 + (this.came % 250)}`;
    const device = { ...siteIdentity(this.#first + (this.came % newcomers)), localAddress: from };
    const query = encodeRequest({ credential, rawQuery: `device_id=${siteDevice(1)}` });
    await Promise.all([
      this.#serve('api', () => this.#ask('api', from, query, '200')),
      this.#serve('ops', () => this.#ask('ops', from, plainRequest('GET /livez'), '200')),
      this.#serve('media', () => this.#ask('media', from, plainRequest('POST /media/v1/whip'), '401')),
      this.#serve('sleep', async () =>
        (await SleepingModule.connect(this.#ports.sleep, { ...device, loginMsMax: servedMsMax })).close(),
      ),
      this.#serve('signal', async () => {
        const url = `ws://127.0.0.1:${this.#ports.signal}`;
        await (await SignalController.connect({ url, ...device })).close();
      }),
    ]);
  }

  /** Figures since the previous call. */
  figures(): object {
    const newcomerSlowestMs = this.#slowestMs;
    this.#slowestMs = {};
    return { newcomers: this.came, newcomersRepeated: this.#repeated, newcomerSlowestMs };
  }

  judge(): readonly string[] {
    const isOften = this.#repeated > this.#visits * repeatedShareMax;
    const often = isOften ? [`newcomers were closed ${this.#repeated} times in ${this.#visits} visits`] : [];
    return [...this.#complaints, ...often];
  }

  async #serve(listener: string, visit: () => Promise<unknown>): Promise<void> {
    const startMs = performance.now();
    const elapsedMs = (): number => Math.round(performance.now() - startMs);
    this.#visits += 1;
    for (;;) {
      const failure = await Promise.race([
        visit().then(
          () => null,
          (error: unknown) => String(error),
        ),
        sleep(servedMsMax, 'no answer', { ref: false }),
      ]);
      if (failure === null) break;
      if (elapsedMs() >= servedMsMax) {
        this.#complaints.push(`newcomer ${this.came} was not served at ${listener}: ${failure}`);
        break;
      }
      this.#repeated += 1;
      await sleep(againMs);
    }
    this.#slowestMs[listener] = Math.max(this.#slowestMs[listener] ?? 0, elapsedMs());
  }

  async #ask(listener: 'api' | 'ops' | 'media', from: string, bytes: string | Buffer, expected: string) {
    const status = await statusOf(this.#ports[listener], from, bytes);
    if (status !== expected) throw new Error(`was answered ${status ?? 'nothing'}`);
  }
}
