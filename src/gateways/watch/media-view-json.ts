/** A session in the media process as operators are told of it. */
import type { MediaView, StreamView } from '../../model/picture.ts';

export interface MediaViewJson {
  readonly mode: string;
  readonly device: boolean;
  readonly bridge: boolean;
  readonly viewers: number;
  readonly source: StreamViewJson | null;
  readonly output: StreamViewJson | null;
  /** By what became of them. */
  readonly frames: MediaView['frames'];
  readonly rebuilds: number;
  readonly key_frames_asked: number;
  readonly frame_ms: MediaView['frameMs'];
  readonly work_ms: MediaView['workMs'];
}

export interface StreamViewJson {
  readonly format: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly frames_per_second: number;
  readonly bytes_per_second: number;
}

export function encodeMediaView(view: MediaView): MediaViewJson {
  return {
    mode: view.mode,
    device: view.hasDevice,
    bridge: view.hasBridge,
    viewers: view.viewers,
    source: encodeStream(view.source),
    output: encodeStream(view.output),
    frames: view.frames,
    rebuilds: view.rebuilds,
    key_frames_asked: view.keyFramesAsked,
    frame_ms: view.frameMs,
    work_ms: view.workMs,
  };
}

function encodeStream(stream: StreamView | null): StreamViewJson | null {
  if (stream === null) return null;
  return {
    format: stream.format,
    width: stream.size?.width ?? null,
    height: stream.size?.height ?? null,
    frames_per_second: stream.framesPerSecond,
    bytes_per_second: stream.bytesPerSecond,
  };
}
