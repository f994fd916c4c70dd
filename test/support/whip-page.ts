/** A page that has its call by WebRTC: it shows a drawn film and a tone, plays what comes, and counts. Text for a browser. */

/** What the page has seen of its call. */
export interface WhipPageFigures {
  readonly framesDecoded: number;
  readonly width: number;
  readonly framesSent: number;
  /** Of the sound that came, between 0 and 1. */
  readonly loudness: number;
  readonly pictures: number;
  /** The size of the last picture, as `width×height`. */
  readonly picture: string;
  readonly commands: readonly string[];
  /** Statuses of the requests that brought candidates. */
  readonly patches: readonly number[];
}

/** Resolves to the status of the offer. */
export function startWhip(endpoint: string, token: string): string {
  return `(${page})(${JSON.stringify(endpoint)}, ${JSON.stringify(token)})`;
}

export const whipFigures = 'window.whip.figures()';
/** Resolves to the status of DELETE. */
export const endWhip = 'window.whip.end()';

const page = String.raw`async (endpoint, token) => {
  const authorization = { Authorization: 'Bearer ' + token };
  document.body.replaceChildren();
  const add = (kind) => document.body.appendChild(document.createElement(kind));

  const canvas = add('canvas');
  [canvas.width, canvas.height] = [320, 240];
  const brush = canvas.getContext('2d');
  let frames = 0;
  setInterval(() => {
    brush.fillStyle = 'hsl(' + ((frames * 7) % 360) + ' 80% 50%)';
    brush.fillRect(0, 0, 320, 240);
    brush.fillStyle = 'white';
    brush.font = '80px sans-serif';
    brush.fillText(String((frames += 1)), 60, 150);
  }, 50);

  const sound = new AudioContext();
  const tone = sound.createOscillator();
  const microphone = sound.createMediaStreamDestination();
  tone.connect(microphone);
  tone.start();

  const connection = new RTCPeerConnection();
  const film = connection.addTransceiver(canvas.captureStream(15).getVideoTracks()[0]);
  const { codecs } = RTCRtpReceiver.getCapabilities('video');
  film.setCodecPreferences(codecs.filter(({ mimeType }) => mimeType === 'video/H264'));
  connection.addTransceiver(microphone.stream.getAudioTracks()[0]);

  const video = add('video');
  [video.autoplay, video.muted] = [true, true];
  const shown = add('img');
  const meter = sound.createAnalyser();
  connection.ontrack = ({ track }) => {
    const stream = new MediaStream([track]);
    if (track.kind === 'video') video.srcObject = stream;
    else {
      // Chromium feeds Web Audio from a remote track only while an element plays it.
      const speaker = add('audio');
      [speaker.muted, speaker.srcObject] = [true, stream];
      void speaker.play();
      sound.createMediaStreamSource(stream).connect(meter);
    }
  };
  let pictures = 0;
  const commands = [];
  const patches = [];
  const hex = (byte) => byte.toString(16).padStart(2, '0');
  const listen = (channel) => {
    channel.binaryType = 'arraybuffer';
    channel.onmessage = ({ data }) => {
      if (channel.label === 'pictures') {
        pictures += 1;
        shown.src = URL.createObjectURL(new Blob([data], { type: 'image/jpeg' }));
      } else commands.push(Array.from(new Uint8Array(data), hex).join(''));
    };
  };
  // Its own takes the place of the server's; the other one is the server's.
  listen(connection.createDataChannel('commands'));
  connection.ondatachannel = ({ channel }) => listen(channel);

  const candidates = [];
  let send = (candidate) => candidates.push(candidate);
  connection.onicecandidate = ({ candidate }) => {
    if (candidate !== null && candidate.candidate !== '') send(candidate);
  };
  await connection.setLocalDescription();
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: { ...authorization, 'Content-Type': 'application/sdp' },
    body: connection.localDescription.sdp,
  });
  if (answer.status !== 201) return answer.status;
  const session = new URL(answer.headers.get('Location'), endpoint);
  const etag = answer.headers.get('ETag');
  await connection.setRemoteDescription({ type: 'answer', sdp: await answer.text() });
  send = async ({ candidate, sdpMid }) => {
    const line = (name) => connection.localDescription.sdp.match(new RegExp('a=' + name + ':.*'))[0];
    const media = ['m=audio 9 UDP/TLS/RTP/SAVPF 0', 'a=mid:' + sdpMid, 'a=' + candidate, ''];
    const { status } = await fetch(session, {
      method: 'PATCH',
      headers: { ...authorization, 'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': etag },
      body: [line('ice-ufrag'), line('ice-pwd'), ...media].join('\r\n'),
    });
    patches.push(status);
  };
  candidates.forEach(send);

  window.whip = {
    async figures() {
      const stats = [...(await connection.getStats()).values()];
      const find = (type) => stats.find((each) => each.type === type && each.kind === 'video') ?? {};
      const samples = new Float32Array(meter.fftSize);
      meter.getFloatTimeDomainData(samples);
      const { framesDecoded = 0, frameWidth: width = 0 } = find('inbound-rtp');
      const { framesSent = 0 } = find('outbound-rtp');
      const loudness = Math.max(...samples);
      const picture = shown.naturalWidth + '×' + shown.naturalHeight;
      return { framesDecoded, width, framesSent, loudness, pictures, picture, commands, patches };
    },
    async end() {
      const { status } = await fetch(session, { method: 'DELETE', headers: authorization });
      connection.close();
      void sound.close();
      return status;
    },
  };
  return answer.status;
}`;
