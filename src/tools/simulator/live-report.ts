/**
 * Output of a simulation: a line per step, above a progress line; with `--json` an object with its `event` each. On a terminal
 * the rate of steps is limited; the counters include the omitted ones.
 */
import { timeOfDay } from '../../server/bootstrap/log-text.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import type { ProgressLine } from '../../cli/shell/output.ts';
import { acquireTokens, fullBucket, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';

export type ReportContext = Pick<CommandContext, 'clock' | 'output' | 'newProgressLine'>;

const stepsShown: Rate = { perSecond: 5, burst: 40 };

export class LiveReport {
  readonly startedMs: number;
  readonly #context: ReportContext;
  readonly #line: ProgressLine;
  readonly #bucket: TokenBucket;

  constructor(context: ReportContext) {
    this.#context = context;
    this.#line = context.newProgressLine();
    this.startedMs = context.clock.monotonicMs();
    this.#bucket = fullBucket(stepsShown, this.startedMs);
  }

  step(json: object, text: string): void {
    const { clock, output } = this.#context;
    const wallMs = clock.wallMs();
    if (output.wantsJson) output.answer({ at: new Date(wallMs).toISOString(), ...json }, '');
    else if (acquireTokens(this.#bucket, stepsShown, clock.monotonicMs()) === 0)
      this.#line.above(() => output.answer({}, `${timeOfDay(wallMs)}  ${text}`));
  }

  remark(text: string): void {
    this.#line.above(() => this.#context.output.remark(text));
  }

  progress(figures: object, text: string): void {
    const { output } = this.#context;
    if (output.wantsJson) output.answer({ event: 'figures', ...figures }, '');
    else this.#line.show(text);
  }

  summary(figures: object, text: string): void {
    this.#line.clear();
    this.#context.output.answer({ event: 'summary', ...figures }, text);
  }
}
