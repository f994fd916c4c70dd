/**
 * The leg of a bridge as the house sees it: before the bridge is told of a call, it is looked at whether anybody could
 * carry its frames. Source: calls-and-media.md, Legs.
 */
import { fail } from '../../lib/result.ts';
import type { LegCloseReason, LegMessage } from '../../model/call.ts';
import type { CallLeg } from '../../core/ports/call-leg.ts';
import type { MediaListenerContext } from './listener-context.ts';
import type { SocketLeg } from './socket-leg.ts';

type Offer = LegMessage & { readonly kind: 'assign' };
type Start = LegMessage & { readonly kind: 'start' };

const refuse = Buffer.from('{"type":"refuse"}');

export class BridgeLeg implements CallLeg {
  readonly #leg: SocketLeg;
  readonly #context: MediaListenerContext;

  constructor(leg: SocketLeg, context: MediaListenerContext) {
    this.#leg = leg;
    this.#context = context;
  }

  notify(message: LegMessage): void {
    if (message.kind === 'assign') this.#offer(message);
    else if (message.kind === 'start') this.#start(message);
    else this.#leg.notify(message);
  }

  close(reason: LegCloseReason): void {
    this.#leg.close(reason);
  }

  /** What cannot be carried is refused in the bridge's place, behind the turn of the house, which still is asking. */
  #offer(message: Offer): void {
    const refusal = this.#context.relay.refusalOf(message.sessionId, message.media, 'frames');
    if (refusal === null) return this.#leg.notify(message);
    this.#context.reportDeclined(refusal);
    queueMicrotask(() => this.#leg.answer(refuse));
  }

  /** It hears of the start before anything that the relay has for it, and not at all where nobody can carry the call. */
  #start(message: Start): void {
    const { sessionId, media } = message;
    const { relay } = this.#context;
    const refusal = relay.refusalOf(sessionId, media, 'frames');
    if (refusal === null) this.#leg.notify(message);
    this.#leg.carry((out) => (refusal === null ? relay.joinBridge(sessionId, media, out) : fail(refusal)));
  }
}
