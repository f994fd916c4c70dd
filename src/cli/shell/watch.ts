/**
 * `--watch`: the answer of a command again and again, until Ctrl-C. On a terminal each is drawn over the one before; elsewhere each
 * is a block of its own, with `--json` a line. A server that cannot be reached is told of, and asked again.
 */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { ReveilleProtocolError, ReveilleUnreachableError } from '../../client/reveille-client.ts';
import { showableLines } from '../../lib/showable-text.ts';
import { OpsUnavailableError } from '../admin/ops-client.ts';
import { pauseUnless, untilInterrupted, type CommandContext } from './command-context.ts';
import { describeFailure } from './failure-report.ts';
import { LiveTable, type Output, type TableTerminal } from './output.ts';

export interface WatchOptions {
  /** Seconds from an answer to the next question. */
  readonly watch?: number | undefined;
}

const everySecondsMax = 3600;
const usualSeconds = '2';
/** A server that has not answered by then is taken for one that cannot be reached. */
const answerMsMax = 10_000;

export function addWatchOption(command: Command): Command {
  const watch = new Option(
    '--watch [seconds]',
    `again every so many seconds, ${usualSeconds} when left out, until Ctrl-C`,
  );
  return command.addOption(watch.argParser(parseSeconds).preset(usualSeconds));
}

function parseSeconds(text: string): number {
  const seconds = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= everySecondsMax) return seconds;
  throw new InvalidArgumentError(
    `Expected a whole number of seconds from 1 to ${everySecondsMax}; what else is named goes before --watch.`,
  );
}

/** Answers in the output of the given context; `signal` gives the question up. */
export type AnswerOnce = (context: CommandContext, signal: AbortSignal | undefined) => Promise<void>;

/** Answers once, or with `--watch` until interrupted; that is an end with exit code 0. */
export async function answerOrWatch(
  context: CommandContext,
  { watch: everySeconds }: WatchOptions,
  answer: AnswerOnce,
): Promise<void> {
  if (everySeconds === undefined) return answer(context, undefined);
  await untilInterrupted((signal) => new Watch(context, process.stdout, everySeconds).run(answer, signal));
  process.exitCode = 0;
}

export interface WatchScreen extends TableTerminal {
  /** Lines that fit; unknown, or 0: as many as one likes. */
  readonly rows?: number | undefined;
}

export class Watch {
  readonly #context: CommandContext;
  readonly #screen: WatchScreen;
  readonly #everySeconds: number;
  readonly #table: LiveTable;
  readonly #sample: Sample;
  /** For machines each change of it is told once. */
  #troubleTold = '';

  constructor(context: CommandContext, screen: WatchScreen, everySeconds: number) {
    this.#context = context;
    this.#screen = screen;
    this.#everySeconds = everySeconds;
    this.#table = new LiveTable(screen, context.clock);
    this.#sample = new Sample(context.output);
  }

  /** Resolves when `signal` is aborted; rejects with what another question would meet again. */
  async run(answer: AnswerOnce, signal: AbortSignal): Promise<void> {
    const { clock, output } = this.#context;
    const context = this.#context.withOutput(this.#sample);
    while (!signal.aborted) {
      this.#sample.lines = [];
      const trouble = await this.#ask(answer, context, signal);
      if (signal.aborted) return;
      if (!output.wantsJson) this.#show(trouble);
      else this.#tell(trouble);
      await pauseUnless(clock, this.#everySeconds * 1000, signal);
    }
  }

  /** Resolves to the reason for which there is no answer; empty: there is one. */
  async #ask(answer: AnswerOnce, context: CommandContext, signal: AbortSignal): Promise<readonly string[]> {
    const late = new AbortController();
    const cancel = context.clock.after(answerMsMax, () => late.abort());
    try {
      await answer(context, AbortSignal.any([signal, late.signal]));
      return [];
    } catch (error) {
      if (signal.aborted) return [];
      if (late.signal.aborted) return [`no answer within ${answerMsMax / 1000} seconds`];
      if (isPassing(error)) return describeFailure(error, false).lines;
      throw error;
    } finally {
      cancel();
    }
  }

  #show(trouble: readonly string[]): void {
    const { clock } = this.#context;
    const heading = `${new Date(clock.wallMs()).toISOString().slice(0, 19)}Z, every ${this.#everySeconds} s`;
    const body = trouble.length === 0 ? this.#sample.lines : ['not reachable, and asked again:', ...trouble];
    const lines = [heading, ...body.flatMap((text) => showableLines(text).split('\n'))];
    if (this.#table.isTable) this.#table.show(fitting(lines, this.#screen.rows ?? 0), heading);
    else this.#screen.write(`${lines.join('\n')}\n\n`);
  }

  #tell([error = '', ...advice]: readonly string[]): void {
    if (error !== '' && error !== this.#troubleTold)
      this.#context.output.warning([error, ...advice.map((line) => line.trim())].join(': '));
    this.#troubleTold = error;
  }
}

/** What the server, or the way to it, may have no longer when it is asked again. */
function isPassing(error: unknown): boolean {
  return (
    error instanceof OpsUnavailableError ||
    error instanceof ReveilleUnreachableError ||
    error instanceof ReveilleProtocolError
  );
}

/** The cursor takes the last row. */
function fitting(lines: readonly string[], rows: number): readonly string[] {
  if (rows === 0 || lines.length < rows) return lines;
  const shown = Math.max(rows - 2, 0);
  return [
    ...lines.slice(0, shown),
    `… ${lines.length - shown} more lines: make the window higher, or use a pipe`,
  ];
}

/** The output of one answer: text is kept to be drawn, JSON goes on. An answer that refuses does not end the watch. */
class Sample implements Output {
  readonly wantsJson: boolean;
  lines: string[] = [];
  readonly #output: Output;
  readonly #warned = new Set<string>();

  constructor(output: Output) {
    this.wantsJson = output.wantsJson;
    this.#output = output;
  }

  answer(json: unknown, text: string): void {
    if (this.wantsJson) this.#output.answer(json, text);
    else this.lines.push(text);
  }

  refusal(json: unknown, text: string): void {
    this.answer(json, text);
  }

  remark(text: string): void {
    if (!this.wantsJson) this.lines.push(text);
  }

  warning(text: string): void {
    if (!this.wantsJson) this.lines.push(`warning: ${text}`);
    else if (!this.#warned.has(text)) this.#output.warning(text);
    this.#warned.add(text);
  }
}
