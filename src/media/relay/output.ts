/** The interface between the relay and the legs and viewers of a session, which implement the outputs. */
import type { FrameHeader } from '../../protocol/media/frame-header.ts';

/**
 * One message is on its way at a time: the next is sent only after `sent` was called, which is never inside `send`. Nothing
 * here throws, and what it is given is not written to: others may be given the same bytes.
 */
export interface LegOutput {
  send(header: Uint8Array, payload: Uint8Array, sent: () => void): void;
  /** The text `key_frame_wanted`. */
  askKeyFrame(): void;
}

/** As above. */
export interface PictureOutput {
  sendPicture(jpeg: Uint8Array, sent: () => void): void;
}

/** `pictures`: a device without WebSocket, to which only finished JPEGs go. */
export type DeviceOutput =
  ({ readonly takes: 'frames' } & LegOutput) | ({ readonly takes: 'pictures' } & PictureOutput);

/** A leg, or a viewer, that is in the relay. */
export interface JoinedLeg {
  /**
   * What it sends, of a viewer never anything. `payload` is the relay's to keep, in memory that nothing else needs: it
   * may be moved to another thread. `headerBytes` are the 12 bytes that `header` was read from: what is passed on goes
   * out with the very same ones.
   */
  frame(header: FrameHeader, payload: Uint8Array<ArrayBuffer>, headerBytes: Uint8Array): void;
  /** Nothing is sent to it any more. It disturbs nobody who has taken its place since; twice is once. */
  leave(): void;
}
