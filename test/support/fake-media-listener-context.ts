/** The two sides of a leg, for tests without sockets: a socket that records what is sent, and the listener's context. */
import type { FrameSocket } from '../../src/media/legs/web-socket.ts';
import { Crowd } from '../../src/lib/connections/crowd.ts';
import type { IdleLeg, LegConnection, MediaListenerContext } from '../../src/media/legs/listener-context.ts';
import { DrivenClock } from './driven-clock.ts';
import { FakeRelay } from './fake-relay.ts';

export class FakeFrameSocket implements FrameSocket {
  /** Texts sent, frames as hex, `ping`, and closes as `code reason`. */
  readonly said: string[] = [];
  /** Callbacks of sent frames, oldest first; call one to report that its frame was written. */
  readonly sending: (() => void)[] = [];
  bufferedAmount = 0;
  bytesRead = 0;
  isCut = false;
  isUnread = false;

  send(text: string): void {
    if (!this.isCut) this.said.push(text);
  }

  sendFrame(header: Uint8Array, payload: Uint8Array, sent: () => void): void {
    this.send(Buffer.concat([header, payload]).toString('hex'));
    this.sending.push(sent);
  }

  ping(): void {
    this.send('ping');
  }

  close(code: number, reason: string): void {
    this.send(`${code} ${reason}`);
  }

  closeUnread(code: number, reason: string): void {
    if (this.isUnread) return;
    this.send(`${code} ${reason}, unread`);
    this.isUnread = true;
  }

  terminate(): void {
    this.isCut = true;
  }
}

export class FakeMediaListenerContext implements MediaListenerContext {
  readonly clock = new DrivenClock();
  readonly relay = new FakeRelay();
  readonly legs = new Crowd<LegConnection>();
  readonly rtcLegs = new Crowd<LegConnection>();
  readonly idleBridges = new Crowd<IdleLeg>();
  readonly leaving = new Set<LegConnection>();
  readonly troubles: string[] = [];

  rtcLegLeft(): void {}

  report(trouble: string, fault: string): void {
    this.troubles.push(`${trouble}: ${fault}`);
  }
}
