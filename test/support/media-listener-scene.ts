/** A media listener on real sockets, with a fake leg service and relay behind it, and the connected peers. */
import assert from 'node:assert/strict';
import { MediaListener, type MediaLegsSettings } from '../../src/media/legs/listener.ts';
import type { CallMedia } from '../../src/model/call.ts';
import { callMedia, callRoom } from './call-scene.ts';
import { DrivenClock } from './driven-clock.ts';
import { FakeLegService } from './fake-leg-service.ts';
import { FakeRelay } from './fake-relay.ts';
import { FakeRtcPeers } from './fake-rtc-peers.ts';
import { FakeLog, FakeTelemetry } from './fakes.ts';
import { mediaLegsDefaults } from './listener-defaults.ts';
import { answerTo, bridgePath, MediaPeer, type HttpAnswer, type MediaPeerOptions } from './media-peer.ts';
import { PictureStream, type PictureRequest } from './picture-stream.ts';
import { RawPeer } from './raw-peer.ts';

export class MediaListenerScene {
  readonly clock = new DrivenClock();
  readonly service = new FakeLegService();
  readonly telemetry = new FakeTelemetry();
  readonly log = new FakeLog();
  readonly relay = new FakeRelay();
  readonly rtcPeers = new FakeRtcPeers();
  /** Maximum number of descriptors of the next listener's connections. */
  socketsMax = 1000;
  /** Legs of the next listener wait for it. */
  loaded = Promise.resolve();
  listener = this.newListener();
  readonly #peers: (() => void)[] = [];

  newListener(settings: Partial<MediaLegsSettings> = {}): MediaListener {
    const { clock, service, relay, rtcPeers, telemetry, log, socketsMax, loaded } = this;
    const deps = { clock, service, relay, rtcPeers, telemetry, log, socketsMax, loaded };
    return new MediaListener({ ...mediaLegsDefaults, port: 0, ...settings }, deps);
  }

  async listen(settings: Partial<MediaLegsSettings> = {}): Promise<void> {
    this.listener.close();
    this.listener = this.newListener(settings);
    await this.listener.listen();
  }

  get port(): number {
    return this.listener.address.port;
  }

  async connect(options: MediaPeerOptions = {}): Promise<MediaPeer> {
    const peer = await MediaPeer.connect(this.port, options);
    this.#peers.push(() => peer.socket.terminate());
    return peer;
  }

  /** Connects an idle bridge, or one for the session in `path`. */
  connectBridge(path = bridgePath): Promise<MediaPeer> {
    return this.connect({ path, bearer: 'good-key' });
  }

  async startBridge(media: CallMedia = callMedia): Promise<MediaPeer> {
    const count = this.service.legs.length + 1;
    const bridge = await this.connectBridge();
    const { leg } = await this.service.leg(count);
    const { sessionId } = this.service;
    leg.notify({ kind: 'start', sessionId, room: callRoom, media, request: null });
    assert.match((await bridge.nextText()) ?? '', /"type":"start"/);
    return bridge;
  }

  async rawPeer(request?: string | Buffer): Promise<RawPeer> {
    const peer = await RawPeer.connect(this.port);
    this.#peers.push(() => peer.socket.destroy());
    if (request !== undefined) peer.send(request);
    return peer;
  }

  async watch(request: PictureRequest = {}): Promise<PictureStream> {
    const stream = await PictureStream.open(this.port, request);
    this.#peers.push(() => stream.hangUp());
    return stream;
  }

  ask(request: string): Promise<HttpAnswer> {
    return answerTo(this.port, request);
  }

  close(): void {
    this.listener.close();
    for (const end of this.#peers.splice(0)) end();
  }
}
