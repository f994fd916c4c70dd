/**
 * The demo as it unfolds: chapters, and in them who does what, and when; at the end a table of what came of it. On a terminal
 * it is told at a pace that a person can follow: a chapter begins when all before it has been shown, and in between the
 * story itself runs as fast as it does. The credentials of its calls are shown so far: the session can be told, the token
 * is a secret while the call lives.
 */
import { styleText } from 'node:util';
import { formatLocalTime } from '../../cli/api/events-text.ts';
import { pauseUnless, type CommandContext } from '../../cli/shell/command-context.ts';
import { alignColumns } from '../../cli/shell/output.ts';
import type { CallCredentialsData } from '../../client/reveille-client.ts';
import { showableLines } from '../../lib/showable-text.ts';
import { sessionOf } from '../simulator/simulated-room.ts';

type Style = Parameters<typeof styleText>[0];

/** How the story is told to people. */
export interface Telling {
  readonly screen: { write(text: string): unknown };
  readonly hasColor: boolean;
  /** Between two steps; 0: none waits. */
  readonly stepMs: number;
  /** Ends the pauses, and the story at its next chapter. */
  readonly signal: AbortSignal;
}

/** Somebody has seen enough. */
export class DemoInterrupted extends Error {}

const styles: Readonly<Record<string, Style>> = {
  backend: 'cyan',
  controller: 'green',
  module: 'green',
  'device leg': 'green',
  bridge: 'magenta',
  'event log': 'yellow',
};
const whoWidth = 10;
/** Before a chapter, as many steps long. */
const chapterSteps = 3;

export class Timeline {
  readonly #context: CommandContext;
  readonly #telling: Telling;
  readonly #startedMs: number;
  readonly #results: { readonly what: string; readonly how: string }[] = [];
  #chapters = 0;
  /** Resolves when all that was told has been shown. */
  #shown: Promise<void> = Promise.resolve();

  constructor(context: CommandContext, telling: Telling) {
    this.#context = context;
    this.#telling = telling;
    this.#startedMs = context.clock.monotonicMs();
  }

  /** Resolves when it may begin. Rejects with DemoInterrupted. */
  async chapter(title: string): Promise<void> {
    this.#chapters += 1;
    const heading = `${this.#chapters}. ${title}`;
    if (this.#context.output.wantsJson) this.#context.output.answer({ chapter: title }, '');
    else this.#show(`\n${this.#style('bold', heading)}\n`, this.#chapters === 1 ? 1 : chapterSteps);
    await this.#shown;
    if (this.#telling.signal.aborted) throw new DemoInterrupted();
  }

  /** `json`: what a machine should know beside it. `more`: lines below `what`, for people only. */
  notify(who: string, what: string, json: object = {}, more: readonly string[] = []): void {
    const { clock, output } = this.#context;
    const [ms, wallMs] = [clock.monotonicMs() - this.#startedMs, clock.wallMs()];
    if (output.wantsJson)
      return output.answer({ at: new Date(wallMs).toISOString(), ms, who, what, ...json }, '');
    const time = formatLocalTime(wallMs).slice('2026-11-20 '.length);
    const margin = `${this.#style('dim', time)}  ${this.#style(styles[who] ?? 'dim', who.padEnd(whoWidth))}  `;
    const indent = ' '.repeat(time.length + whoWidth + 4);
    const lines = [margin + showableLines(what), ...more.map((line) => indent + showableLines(line))];
    this.#show(`${lines.join('\n')}\n`, 1);
  }

  /** A row of the table at the end. */
  result(what: string, how: string): void {
    this.#results.push({ what, how });
  }

  /** The table, and the verdict below it. */
  async end(verdict: string): Promise<void> {
    const { output } = this.#context;
    const results = this.#results;
    if (output.wantsJson) output.answer({ results }, '');
    else if (results.length > 0) {
      const rows = alignColumns(results.map(({ what, how }) => [`  ${what}`, how]));
      this.#show(`\n${this.#style('bold', 'In short')}\n${rows}\n\n`, 0);
    }
    this.notify('demo', verdict);
    await this.#shown;
  }

  #show(text: string, steps: number): void {
    const { screen, stepMs, signal } = this.#telling;
    if (stepMs === 0) return void screen.write(text);
    this.#shown = this.#shown.then(() => {
      screen.write(text);
      return pauseUnless(this.#context.clock, steps * stepMs, signal);
    });
  }

  #style(style: Style, text: string): string {
    return this.#telling.hasColor ? styleText(style, text, { validateStream: false }) : text;
  }
}

const tokenCharactersShown = 8;

/** Of the peer id what names the call, of the token what every token begins with. */
export function showCredentials({ peer_id, token, ...rest }: CallCredentialsData): CallCredentialsData {
  const [place = ''] = peer_id.split('?', 1);
  return {
    peer_id: `${place}?…&x_session=${sessionOf(peer_id)}`,
    token: `${token.slice(0, tokenCharactersShown)}…`,
    ...rest,
  };
}

/** Below a step of the story. */
export function credentialLines(credentials: CallCredentialsData): string[] {
  const { peer_id: peerId, token, media_url: mediaUrl } = showCredentials(credentials);
  return [`  peer_id    ${peerId}`, `  token      ${token}`, `  media_url  ${mediaUrl ?? '-'}`];
}
