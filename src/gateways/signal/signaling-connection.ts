/**
 * A connection with a session: welcome, heartbeats, messages and end. Login data was freed with the handshake.
 * Lifecycle: entering -> awaiting -> online -> closed. Source: signal-wire.md.
 */
import { wallSeconds, wholeMsIn } from '../../lib/clock.ts';
import type { WheelEntry } from '../../lib/collections/deadline-wheel.ts';
import { acquireTokens, fullBucket, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import {
  controllerReportsBurstMax,
  controllerReportsPerSecondMax,
  heartbeatsMissedMax,
  signalBackpressureBytesMax,
  signalHeartbeatSeconds,
  signalMessagesBurstMax,
  signalMessagesPerSecondMax,
} from '../../model/limits.ts';
import type { CallRejection } from '../../model/call.ts';
import type { DeliveryResult, DeviceMessage, SignalEndReason, WakeReport } from '../../model/signal.ts';
import type { SignalConnection, SessionTicket, SignalSessions } from '../../core/ports/device-sessions.ts';
import { encodeHeartbeatAck, signalCloses, type SignalClose } from '../../protocol/signal/server-message.ts';
import { decodeControllerMessage, type ControllerMessage } from '../../protocol/signal/controller-message.ts';
import type { FrameSocket, SocketEnd, SocketOwner } from './web-socket.ts';
import type { OpenConnection, DeviceListenerContext } from '../../lib/connections/device-connections.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { MessageDeliveries } from './message-deliveries.ts';
import type { SignalSettings } from './settings.ts';
import { composeWelcome, type WelcomeSources } from './welcome.ts';

export interface SignalListenerContext
  extends DeviceListenerContext<SignalSettings, SignalSessions, SignalEndReason>, WelcomeSources {
  readonly telemetry: Telemetry;
}

export type SignalConnectionDeps = Pick<
  SignalListenerContext,
  'clock' | 'sessions' | 'telemetry' | 'openConnections' | 'sleepServers' | 'mediaUrl' | 'reportFailure'
>;

/** `entering`: the login is being decided. `awaiting`: the session exists, but its login is not yet committed. */
type Stage = 'entering' | 'awaiting' | 'online' | 'closed';

/** The end of a connection: a close frame, a reset without one, or the socket is already closed. */
type Farewell = SignalClose | 'cut' | 'gone';

/** Source: signal-wire.md, Close codes. */
const farewells: Readonly<Record<SignalEndReason, Farewell>> = {
  peer_closed: 'cut',
  bye: signalCloses.bye,
  reset: 'cut',
  heartbeat_timeout: signalCloses.heartbeatTimeout,
  malformed: signalCloses.malformed,
  flood: signalCloses.flood,
  replaced: signalCloses.replaced,
  kicked: signalCloses.kicked,
  drain: signalCloses.draining,
  node_lost: 'cut',
};

const silenceMsMax = heartbeatsMissedMax * signalHeartbeatSeconds * 1000;
const messageRate: Rate = { perSecond: signalMessagesPerSecondMax, burst: signalMessagesBurstMax };
const reportRate: Rate = { perSecond: controllerReportsPerSecondMax, burst: controllerReportsBurstMax };
const unknown: Promise<DeliveryResult> = Promise.resolve('unknown');

export class SignalingConnection implements SignalConnection, SocketOwner, OpenConnection<SignalEndReason> {
  deadlineMs = 0;
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  lastHeartbeatAt = 0;
  readonly #socket: FrameSocket;
  readonly #context: SignalConnectionDeps;
  #stage: Stage = 'entering';
  #ticket: SessionTicket | null = null;
  #deliveries: MessageDeliveries | null = null;
  /** A heartbeat arrived before the welcome; its acknowledgement is sent after it. */
  #owesAck = false;
  readonly #messages: TokenBucket;
  /** Rate limit of wake and call reports, created with the first. */
  #reports: TokenBucket | null = null;

  constructor(socket: FrameSocket, context: SignalConnectionDeps) {
    this.#socket = socket;
    this.#context = context;
    this.#messages = fullBucket(messageRate, context.clock.monotonicMs());
  }

  /** The login is accepted. The welcome waits for its commit: a crash must not lose an epoch that was sent. */
  enter(ticket: SessionTicket): void {
    const { clock, openConnections, sessions } = this.#context;
    if (this.#stage === 'closed') return;
    this.#stage = 'awaiting';
    this.#ticket = ticket;
    this.deadlineMs = wholeMsIn(clock, silenceMsMax);
    openConnections.add(this);
    const committed = sessions.committed(ticket);
    if (typeof committed === 'number') this.#welcome(ticket, committed);
    else
      void committed.then(
        (epoch) => this.#welcome(ticket, epoch),
        (error: unknown) => this.#fail(error),
      );
  }

  received(bytes: Uint8Array, isBinary: boolean): void {
    if (this.#stage === 'closed' || !this.#spend(this.#messages, messageRate)) return;
    this.#handle(decodeControllerMessage(bytes, isBinary, 'session'));
  }

  pinged(): void {
    if (this.#stage === 'closed' || !this.#spend(this.#messages, messageRate)) return;
    this.#heartbeat();
    if (this.#socket.bufferedAmount > signalBackpressureBytesMax) this.end('reset');
  }

  ponged(): void {
    if (this.#stage !== 'closed') this.#spend(this.#messages, messageRate);
  }

  onClosed(reason: SocketEnd): void {
    this.#end(reason, 'gone');
  }

  expire(): void {
    this.end('heartbeat_timeout');
  }

  deliver(message: DeviceMessage): Promise<DeliveryResult> {
    if (this.#stage === 'closed') return unknown;
    if (this.#deliveries === null) {
      this.#deliveries = new MessageDeliveries(this.#context.clock, (text) => this.#send(text));
      if (this.#stage === 'online') this.#deliveries.open();
    }
    return this.#deliveries.deliver(message);
  }

  end(reason: SignalEndReason): void {
    this.#end(reason, farewells[reason]);
  }

  close(reason: SignalEndReason): void {
    this.#leave(reason, farewells[reason]);
  }

  deny(): void {
    this.#leave('kicked', signalCloses.denied);
  }

  drop(): void {
    this.#depart();
    this.#socket.terminate();
  }

  #handle(message: ControllerMessage): void {
    switch (message.kind) {
      case 'heartbeat':
        this.#heartbeat();
        this.#answerHeartbeat();
        break;
      case 'ack':
        this.#deliveries?.acknowledge(message.id);
        break;
      case 'wake-report':
        this.#reportWake(message.report);
        break;
      case 'call-reject':
        this.#rejectCall(message.rejection);
        break;
      case 'bye':
        this.end('bye');
        break;
      case 'login':
      case 'invalid':
        this.end('malformed');
        break;
    }
  }

  #reportWake(report: WakeReport): void {
    if (this.#ticket !== null && this.#spendReport())
      this.#context.sessions.wakeReported(this.#ticket, report);
  }

  #rejectCall(rejection: CallRejection): void {
    if (this.#ticket !== null && this.#spendReport())
      this.#context.sessions.callRejected(this.#ticket, rejection);
  }

  #spendReport(): boolean {
    this.#reports ??= fullBucket(reportRate, this.#context.clock.monotonicMs());
    return this.#spend(this.#reports, reportRate);
  }

  /** False: the rate was exceeded, and the connection is closed. */
  #spend(bucket: TokenBucket, rate: Rate): boolean {
    if (acquireTokens(bucket, rate, this.#context.clock.monotonicMs()) === 0) return true;
    this.end('flood');
    return false;
  }

  /** Hot path: two stores; the deadline wheel finds the new deadline at the old one. */
  #heartbeat(): void {
    const { clock } = this.#context;
    this.lastHeartbeatAt = wallSeconds(clock);
    this.deadlineMs = wholeMsIn(clock, silenceMsMax);
  }

  #answerHeartbeat(): void {
    if (this.#stage === 'online') this.#send(encodeHeartbeatAck(this.lastHeartbeatAt));
    else this.#owesAck = true;
  }

  #welcome(ticket: SessionTicket, epoch: number): void {
    if (this.#stage !== 'awaiting') return;
    const serverTime = wallSeconds(this.#context.clock);
    const welcome = composeWelcome(this.#context, ticket, epoch, serverTime);
    if (!welcome.ok) return this.#fail(welcome.error);
    this.#stage = 'online';
    this.#send(welcome.value);
    if (this.#owesAck) this.#send(encodeHeartbeatAck(serverTime));
    this.#deliveries?.open();
  }

  /** The session cannot be stored or welcomed; the controller shall reconnect. */
  #fail(error: unknown): void {
    if (this.#stage !== 'awaiting') return;
    this.#context.reportFailure(error);
    this.#end('drain', signalCloses.busy);
  }

  #send(text: string): void {
    if (this.#stage !== 'online') return;
    if (!this.#socket.sendText(text)) this.end('reset');
  }

  #end(reason: SignalEndReason, farewell: Farewell): void {
    const ticket = this.#ticket;
    if (this.#stage === 'closed' || ticket === null) return;
    this.#leave(reason, farewell);
    this.#context.sessions.ended(ticket, reason, this.lastHeartbeatAt);
  }

  #leave(reason: SignalEndReason, farewell: Farewell): void {
    if (this.#stage === 'closed') return;
    this.#depart();
    if (farewell === 'cut') this.#socket.terminate();
    else if (farewell !== 'gone') this.#socket.dismiss(farewell);
    this.#context.telemetry.signalEnd(reason);
  }

  #depart(): void {
    this.#stage = 'closed';
    this.#context.openConnections.remove(this);
    this.#deliveries?.abandon();
  }
}
