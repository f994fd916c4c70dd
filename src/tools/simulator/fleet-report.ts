/**
 * The output of a simulated fleet of modules: every wake packet as a line while they are few, troubles now and then,
 * and how it stands in one line; at the end a summary. With `--json` each is a JSON object with its `event`.
 */
import { fullBucket, takeToken, waitForToken, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import type { FleetTally } from './module-fleet.ts';
import type { ProgressLine } from '../../cli/shell/progress-line.ts';
import { showable } from '../../cli/shell/output.ts';

/** Lines for people; what goes beyond is counted. */
const wakeLines: Rate = { perSecond: 20, burst: 40 };
const troubleLines: Rate = { perSecond: 1, burst: 5 };

export class FleetReport {
  readonly #context: CommandContext;
  readonly #size: number;
  readonly #line: ProgressLine;
  readonly #startedMs: number;
  readonly #wakeBucket: TokenBucket;
  readonly #troubleBucket: TokenBucket;
  #before: FleetTally = { online: 0, logins: 0, refused: 0, errors: 0, heartbeats: 0, wakes: 0 };
  #beforeMs: number;
  #isComplete = false;

  constructor(context: CommandContext, size: number) {
    this.#context = context;
    this.#size = size;
    this.#line = context.newProgressLine();
    this.#startedMs = context.clock.monotonicMs();
    this.#beforeMs = this.#startedMs;
    this.#wakeBucket = fullBucket(wakeLines, this.#startedMs);
    this.#troubleBucket = fullBucket(troubleLines, this.#startedMs);
  }

  wake(deviceId: string, packet: Buffer): void {
    const bytes = spacedHex(packet);
    if (!this.#context.output.wantsJson && !this.#mayShow(this.#wakeBucket, wakeLines)) return;
    const at = new Date(this.#context.clock.wallMs()).toISOString();
    const json = { event: 'wake', at, device_id: deviceId, packet: packet.toString('hex') };
    this.#say(json, `${at}  ${showable(deviceId)}  woken: ${bytes}`);
  }

  trouble(deviceId: string, error: Error): void {
    if (!this.#mayShow(this.#troubleBucket, troubleLines)) return;
    this.#line.above(() => this.#context.output.remark(showable(`${deviceId}: ${error.message}`)));
  }

  /** Once a second. */
  progress(tally: FleetTally): void {
    const { clock, output } = this.#context;
    const nowMs = clock.monotonicMs();
    if (!this.#isComplete && tally.online === this.#size) {
      this.#isComplete = true;
      const seconds = (nowMs - this.#startedMs) / 1000;
      this.#say(
        { event: 'online', devices: this.#size },
        `all ${this.#size} asleep after ${seconds.toFixed(0)} s`,
      );
    }
    const perSecond = (count: 'logins' | 'heartbeats'): number =>
      Math.round(((tally[count] - this.#before[count]) * 1000) / Math.max(1, nowMs - this.#beforeMs));
    const rates = `${perSecond('logins')} logins/s  ${perSecond('heartbeats')} heartbeats/s`;
    const counts = `${tally.wakes} wakes  ${tally.refused} refused  ${tally.errors} errors`;
    if (!output.wantsJson) this.#line.show(`${tally.online}/${this.#size} asleep  ${rates}  ${counts}`);
    this.#before = { ...tally };
    this.#beforeMs = nowMs;
  }

  summary(tally: FleetTally): void {
    this.#line.clear();
    const seconds = (this.#context.clock.monotonicMs() - this.#startedMs) / 1000;
    const counts = `${tally.logins} logins, ${tally.refused} refused, ${tally.errors} errors, ${tally.heartbeats} heartbeats`;
    this.#context.output.answer(
      { event: 'summary', devices: this.#size, seconds: Number(seconds.toFixed(1)), ...tally },
      `${this.#size} devices for ${seconds.toFixed(1)} s, ${tally.online} asleep at the end: ${counts}, ${tally.wakes} wakes`,
    );
  }

  #say(json: object, text: string): void {
    this.#line.above(() => this.#context.output.answer(json, text));
  }

  #mayShow(bucket: TokenBucket, rate: Rate): boolean {
    if (waitForToken(bucket, rate, this.#context.clock.monotonicMs()) > 0) return false;
    takeToken(bucket);
    return true;
  }
}

/** `98 3b 16 …`. */
export function spacedHex(bytes: Buffer): string {
  return bytes.toString('hex').replaceAll(/(..)(?=.)/g, '$1 ');
}
