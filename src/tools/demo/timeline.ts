/**
 * The demo as it unfolds: who, what, and the milliseconds since it began; and the credentials of its calls as they are
 * shown: the session can be told, the token is a secret while the call lives.
 */
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { sessionOf } from '../simulator/simulated-room.ts';
import type { CallCredentialsData } from '../../client/reveille-client.ts';

const whoWidth = 10;

export class Timeline {
  readonly #context: CommandContext;
  readonly #startedMs: number;

  constructor(context: CommandContext) {
    this.#context = context;
    this.#startedMs = context.clock.monotonicMs();
  }

  /** `json`: what a machine should know beside it. `more`: lines below `what`, for people only. */
  notify(who: string, what: string, json: object = {}, more: readonly string[] = []): void {
    const ms = this.#context.clock.monotonicMs() - this.#startedMs;
    const margin = `+${ms.toFixed(1).padStart(8)} ms  ${who.padEnd(whoWidth)}  `;
    const lines = [margin + what, ...more.map((line) => ' '.repeat(margin.length) + line)];
    this.#context.output.answer({ ms, who, what, ...json }, lines.join('\n'));
  }

  end(verdict: string): void {
    this.notify('demo', verdict);
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
