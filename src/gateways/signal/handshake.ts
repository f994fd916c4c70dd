/**
 * A connection from its upgrade to its login: challenge, login message and refusals. It owns the socket until the login is
 * accepted, then passes it to a SignalingConnection. Lifecycle: proving -> over.
 * Source: signal-wire.md.
 */
import { addressKey } from '../../lib/connections/address-key.ts';
import { generateSessionKey } from '../../lib/session-key.ts';
import type { WheelEntry } from '../../lib/collections/deadline-wheel.ts';
import { signalHandshakePingsMax } from '../../model/limits.ts';
import type { SignalLogin, SignalRefusal } from '../../model/signal.ts';
import type { SessionTicket } from '../../core/ports/device-sessions.ts';
import { signalCloses, type SignalClose, encodeChallenge } from '../../protocol/signal/server-message.ts';
import { decodeControllerMessage } from '../../protocol/signal/controller-message.ts';
import type { FrameSocket, SocketEnd, SocketOwner } from './web-socket.ts';
import type { PendingConnection } from '../../lib/connections/device-connections.ts';
import { type SignalListenerContext, SignalingConnection } from './signaling-connection.ts';

const refusals: Readonly<Record<SignalRefusal, SignalClose>> = {
  timeout: signalCloses.loginTimeout,
  malformed: signalCloses.malformed,
  denied: signalCloses.denied,
  busy: signalCloses.busy,
  flood: signalCloses.flood,
};

export class Handshake implements PendingConnection, SocketOwner {
  deadlineMs: number;
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  readonly #socket: FrameSocket;
  readonly #context: SignalListenerContext;
  readonly #sessionKey = generateSessionKey();
  /** Address key of the peer; empty if addresses are not limited. */
  readonly #address: string;
  #isOver = false;
  #pings = 0;

  /** Takes over a socket after its upgrade; call `start` next. */
  constructor(socket: FrameSocket, context: SignalListenerContext) {
    const isPerAddress = context.settings.handshakes_per_address_max > 0;
    this.#socket = socket;
    this.#context = context;
    this.#address = isPerAddress ? addressKey(socket.address) : '';
    this.deadlineMs = context.clock.monotonicMs() + context.settings.login_deadline_ms;
  }

  start(): void {
    const { pending, unproved, clock } = this.#context;
    pending.add(this);
    unproved.add(this.#address, this, clock.monotonicMs());
    this.#socket.owner = this;
    this.#socket.sendText(encodeChallenge(this.#sessionKey));
  }

  received(bytes: Uint8Array, isBinary: boolean): void {
    if (this.#isOver) return;
    const message = decodeControllerMessage(bytes, isBinary, 'login');
    if (message.kind === 'login') this.#logIn(message.login);
    else if (message.kind === 'bye') this.#dismiss(signalCloses.bye);
    else this.#refuse('malformed');
  }

  /** A ping before the login proves nothing about the device. */
  pinged(): void {
    this.#pings += 1;
    if (this.#pings > signalHandshakePingsMax) this.#refuse('flood');
  }

  ponged(): void {
    this.pinged();
  }

  onClosed(reason: SocketEnd): void {
    if (this.#isOver) return;
    this.#leave();
    if (reason === 'malformed') this.#context.telemetry.signalLogin('malformed');
  }

  expire(): void {
    this.#refuse('timeout');
  }

  turnAway(): void {
    this.#refuse('busy', signalCloses.draining);
  }

  evict(): void {
    this.#context.telemetry.signalLogin('busy');
    this.drop();
  }

  drop(): void {
    this.#leave();
    this.#socket.terminate();
  }

  #logIn(login: SignalLogin): void {
    const connection = new SignalingConnection(this.#socket, this.#context);
    const answer = this.#admit(login, connection);
    if (answer === 'busy' || answer === 'denied') {
      this.#refuse(answer);
      return;
    }
    this.#context.telemetry.signalLogin('accepted');
    this.#leave();
    this.#socket.owner = connection;
    connection.enter(answer);
  }

  #admit(login: SignalLogin, connection: SignalingConnection): SessionTicket | 'denied' | 'busy' {
    const { sessions } = this.#context;
    try {
      const hasRoom = this.#context.hasRoom();
      return sessions.admit(login, this.#sessionKey, connection, hasRoom, () => this.#socket.address);
    } catch (error) {
      this.#context.reportFailure(error);
      return 'busy';
    }
  }

  #refuse(reason: SignalRefusal, close: SignalClose = refusals[reason]): void {
    if (this.#isOver) return;
    this.#context.telemetry.signalLogin(reason);
    this.#dismiss(close);
  }

  #dismiss(close: SignalClose): void {
    this.#leave();
    this.#socket.dismiss(close);
  }

  #leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { pending, unproved } = this.#context;
    pending.remove(this);
    unproved.delete(this.#address, this);
  }
}
