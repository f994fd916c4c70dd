/** Clients of one leg each, by WebSocket and by WebRTC: they send frames of video and sound, and count what comes back. */
import { once } from 'node:events';
import { Audio, PeerConnection, Video, type Track } from 'node-datachannel';
import { WebSocket } from 'ws';
import { encodeFrameHeader } from '../../src/protocol/media/frame-header.ts';
import { packetizeH264 } from '../../src/protocol/rtp/h264-payload.ts';
import { encodeRtp, isRtcp } from '../../src/protocol/rtp/rtp-packet.ts';

export interface EchoClient {
  /** The NAL unit of a frame. */
  sendVideo(unit: Buffer, timestampMs: number): void;
  sendAudio(packet: Buffer, timestampMs: number): void;
  /** Bytes that came back. */
  readonly came: number;
  close(): void;
}

const startCode = Buffer.from([0, 0, 0, 1]);

export async function connectSocket(port: number): Promise<EchoClient> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
  let came = 0;
  socket.on('message', (message: Buffer) => (came += message.length));
  await once(socket, 'open');
  const size = { isKeyFrame: true, width: 640, height: 480 };
  return {
    sendVideo: (unit, timestampMs) =>
      socket.send(
        Buffer.concat([
          encodeFrameHeader({ kind: 'video', format: 'h264', ...size, timestampMs }),
          startCode,
          unit,
        ]),
      ),
    sendAudio: (packet, timestampMs) =>
      socket.send(Buffer.concat([encodeFrameHeader({ kind: 'audio', format: 'opus', timestampMs }), packet])),
    get came() {
      return came;
    },
    close: () => socket.terminate(),
  };
}

const video = { payloadType: 96, clockRate: 90, ssrc: 1 };
const audio = { payloadType: 111, clockRate: 48, ssrc: 2 };

export async function connectPeer(answerOf: (offer: string) => Promise<string>): Promise<EchoClient> {
  const connection = new PeerConnection('client', { iceServers: [], disableAutoNegotiation: true });
  const connected = new Promise<void>((resolve) => {
    connection.onStateChange((state) => {
      if (state === 'connected') resolve();
    });
  });
  const gathered = new Promise<void>((resolve) => {
    connection.onGatheringStateChange((state) => {
      if (state === 'complete') resolve();
    });
  });
  const pictures = new Video('0', 'SendRecv');
  pictures.addH264Codec(
    video.payloadType,
    'profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1',
  );
  pictures.addSSRC(video.ssrc, 'client');
  const sound = new Audio('1', 'SendRecv');
  sound.addOpusCodec(audio.payloadType);
  sound.addSSRC(audio.ssrc, 'client');
  let came = 0;
  const tracks = [connection.addTrack(pictures), connection.addTrack(sound)] as const;
  for (const track of tracks) {
    track.onClosed(() => undefined);
    track.onMessage((packet) => {
      if (!isRtcp(packet)) came += packet.length;
    });
  }
  connection.setLocalDescription('offer');
  await gathered;
  connection.setRemoteDescription(await answerOf(connection.localDescription()?.sdp ?? ''), 'answer');
  await connected;
  const sequences = { video: 0, audio: 0 };
  const send = (
    track: Track,
    kind: 'video' | 'audio',
    payloads: readonly Uint8Array[],
    timestampMs: number,
  ): void => {
    const { clockRate, ...fields } = kind === 'video' ? video : audio;
    payloads.forEach((payload, index) => {
      const sequence = sequences[kind];
      sequences[kind] = (sequence + 1) & 0xffff;
      const marker = kind === 'video' && index === payloads.length - 1;
      track.sendMessageBinary(
        encodeRtp({ ...fields, marker, sequence, timestamp: timestampMs * clockRate, payload }),
      );
    });
  };
  return {
    sendVideo: (unit, timestampMs) => send(tracks[0], 'video', packetizeH264([unit], 1100), timestampMs),
    sendAudio: (packet, timestampMs) => send(tracks[1], 'audio', [packet], timestampMs),
    get came() {
      return came;
    },
    close: () => {
      for (const track of tracks) track.close();
      connection.close();
    },
  };
}
