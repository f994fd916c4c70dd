/** Queries the API as a backend does, and checks the age of the heartbeats in the responses. */
import { ApiClient, type ApiAnswer } from '../../support/api-client.ts';
import type { ListenerPorts } from '../../support/server-process.ts';
import { siteCredential, siteDevice } from '../../support/site-server.ts';

const asksPerSecond = 20;

export class Querier {
  asked = 0;
  late = 0;
  readonly #devices: number;
  readonly #lateSecondsMax: number;
  readonly #api: ApiClient;
  readonly #otherAnswers = new Map<unknown, number>();
  #tookMs: number[] = [];

  /** Device 0, the canary, is not queried. */
  constructor(ports: ListenerPorts, devices: number, lateSecondsMax: number) {
    this.#api = new ApiClient(ports.api, siteCredential);
    this.#devices = devices;
    this.#lateSecondsMax = lateSecondsMax;
  }

  async askSome(): Promise<void> {
    const from = Math.floor(Math.random() * (this.#devices - 1));
    for (let i = 0; i < asksPerSecond; i++) {
      this.asked += 1;
      if (!(await this.isInTime(1 + ((from + i) % (this.#devices - 1))))) this.late += 1;
    }
  }

  async isInTime(index: number): Promise<boolean> {
    const startMs = performance.now();
    const ask = (): Promise<ApiAnswer> => this.#api.connectivity(siteDevice(index));
    // Retry once, as every client does: the server may have closed the idle connection.
    const { json } = await ask().catch(ask);
    this.#tookMs.push(performance.now() - startMs);
    if (json.code !== 0) {
      this.#otherAnswers.set(json.code, (this.#otherAnswers.get(json.code) ?? 0) + 1);
      return true;
    }
    const { sleep: asleep } = json.data as { sleep: Record<string, number | null> };
    const seen = Math.max(asleep['last_heartbeat_at'] ?? 0, asleep['last_login_at'] ?? 0);
    return Date.now() / 1000 - seen <= this.#lateSecondsMax;
  }

  /** Times cover the responses since the previous call. */
  figures(): object {
    const sorted = this.#tookMs.splice(0).sort((a, b) => a - b);
    const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
    return { asked: this.asked, late: this.late, queryP99Ms: Math.round(p99) };
  }

  judge(): readonly string[] {
    const answers = Array.from(
      this.#otherAnswers,
      ([code, count]) => `${count} queries got code ${String(code)}`,
    );
    return this.late > 0 ? [...answers, `${this.late} of ${this.asked} heartbeats were late`] : answers;
  }

  close(): void {
    this.#api.close();
  }
}
