/** One direction of a call's media: the downlink, from the bridge to the device and to viewers, or the uplink. Source:
 * calls-and-media.md, Legs.
 */
import type { SampleShape } from '../../model/media/sound.ts';
import type { FrameHeader } from '../../protocol/media/frame-header.ts';
import type { FrameTally } from './session-stats.ts';
import { type SoundReceiver, SoundRoute } from './sound-route.ts';
import type { KeyFrameRequest } from './source-video.ts';
import { VideoDirection, type VideoSender } from './video-direction.ts';
import type { SessionOverdue } from './overdue-frames.ts';
import type { ReservationDeps } from './transcoder-reservation.ts';

export interface DirectionDeps extends ReservationDeps {
  readonly overdue: SessionOverdue;
}

export interface SendingLeg extends VideoSender {
  /** Ends the call: its frames took too long to decode, repeatedly. */
  readonly endCall: () => void;
  sound(): SampleShape;
}

export class Direction {
  readonly video: VideoDirection;
  readonly sound: SoundRoute;
  readonly #tally: FrameTally;
  readonly #sender: SendingLeg;

  constructor(deps: DirectionDeps, tally: FrameTally, sender: SendingLeg) {
    const overdue = {
      isRefused: () => deps.overdue.isRefused(),
      add: () => {
        if (deps.overdue.add()) sender.endCall();
      },
    };
    this.video = new VideoDirection({ ...deps, overdue }, tally, sender);
    this.sound = new SoundRoute({ ...deps, overdue, tally, receivers: () => this.#receivers() });
    this.#tally = tally;
    this.#sender = sender;
  }

  receive(
    keyFrames: KeyFrameRequest,
    header: FrameHeader,
    payload: Uint8Array<ArrayBuffer>,
    headerBytes: Uint8Array,
  ): void {
    if (header.kind === 'video') return this.video.receive(keyFrames, header, payload, headerBytes);
    const { format, timestampMs } = header;
    if (!this.sound.receive({ format, timestampMs, payload }, headerBytes, this.#sender.sound()))
      this.#tally.frame(this.video.leg === null ? 'no_receiver' : 'unsupported');
  }

  #receivers(): SoundReceiver[] {
    return this.video.receivers.flatMap(({ acceptedSound, sendQueue, mediaUnavailable }) => {
      const sound = acceptedSound();
      return sound === null ? [] : [{ sound, sendQueue, mediaUnavailable }];
    });
  }
}
