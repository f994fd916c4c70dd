/**
 * The part of the watch page's script that has a call by WebRTC: one connection for the video of the source, single
 * pictures of source and output, and the sound, which is sent only while the page asks for it. Source: RFC 9725, as WHEP
 * takes it over; docs/media-protocol.md, Viewers by WebRTC.
 */

export const liveScript = `
const connectMsMax = 5000;
const soundCommands = { on: 0x3000, off: 0x3001 };
const channels = { source: 'source', output: 'pictures' };

/* The network lets nothing through: it is not tried again. */
let isWayClosed = false;

/* Null: this browser, this server or the network between them cannot do it. The owner is told of tracks, pictures and the end. */
async function openLive(link, owner) {
  if (isWayClosed || !('RTCPeerConnection' in window)) return null;
  const connection = new RTCPeerConnection();
  const commands = connection.createDataChannel('commands');
  for (const [name, label] of Object.entries(channels)) {
    const channel = connection.createDataChannel(label);
    channel.binaryType = 'arraybuffer';
    channel.onmessage = ({ data }) => owner.picture(name, data);
  }
  connection.ontrack = ({ track, receiver }) => {
    /* Shown when it comes, not when it would flow best. */
    if (track.kind === 'video') receiver.jitterBufferTarget = 0;
    owner.track(track);
  };
  for (const kind of ['video', 'audio']) connection.addTransceiver(kind, { direction: 'recvonly' });
  let session = null;
  try {
    await connection.setLocalDescription();
    const { sdp } = connection.localDescription;
    const headers = { 'Content-Type': 'application/sdp' };
    const answer = await fetch(link, { method: 'POST', headers, body: sdp });
    if (!answer.ok) throw new Error(answer.statusText);
    session = new URL(answer.headers.get('Location'), answer.url);
    const description = { type: 'answer', sdp: await answer.text() };
    await Promise.all([connected(connection), connection.setRemoteDescription(description)]);
  } catch {
    connection.close();
    /* The server would count it as a viewer until its own time is up. */
    if (session !== null) await fetch(session, { method: 'DELETE' }).catch(() => undefined);
    return null;
  }
  connection.onconnectionstatechange = () => {
    if (['failed', 'closed'].includes(connection.connectionState)) owner.gone();
  };
  return {
    close: () => {
      connection.onconnectionstatechange = null;
      connection.close();
    },
    hear: (isOn) => sendCommand(commands, isOn ? soundCommands.on : soundCommands.off),
    delays: () => delaysOf(connection),
  };
}

function connected(connection) {
  return new Promise((resolve, reject) => {
    const fail = () => {
      isWayClosed = true;
      reject(new Error('no way to the server'));
    };
    const timeout = setTimeout(fail, connectMsMax);
    connection.onconnectionstatechange = () => {
      if (connection.connectionState === 'connecting') return;
      clearTimeout(timeout);
      if (connection.connectionState === 'connected') resolve();
      else fail();
    };
  });
}

/* 32 bits, little endian. */
function sendCommand(channel, command) {
  const send = () => channel.send(new Uint8Array([command & 0xff, command >> 8, 0, 0]));
  if (channel.readyState === 'open') send();
  else channel.onopen = send;
}

/* Milliseconds; null: not known. */
async function delaysOf(connection) {
  let roundTrip = null;
  let waited = 0;
  let emitted = 0;
  for (const report of (await connection.getStats()).values()) {
    if (report.type === 'candidate-pair' && report.nominated && report.currentRoundTripTime !== undefined)
      roundTrip = report.currentRoundTripTime * 1000;
    if (report.type === 'inbound-rtp' && report.kind === 'video') {
      waited = report.jitterBufferDelay ?? 0;
      emitted = report.jitterBufferEmittedCount ?? 0;
    }
  }
  return { roundTrip, wait: emitted > 0 ? (waited / emitted) * 1000 : null };
}

/* Draws the newest picture: of those that come while one is decoded only the last is. */
function pictureDrawer(canvas) {
  let next = null;
  let isDrawing = false;
  const context = canvas.getContext('2d');
  const draw = async () => {
    isDrawing = true;
    while (next !== null) {
      const jpeg = new Blob([next], { type: 'image/jpeg' });
      next = null;
      try {
        const bitmap = await createImageBitmap(jpeg);
        if (canvas.width !== bitmap.width) canvas.width = bitmap.width;
        if (canvas.height !== bitmap.height) canvas.height = bitmap.height;
        context.drawImage(bitmap, 0, 0);
        bitmap.close();
        canvas.dataset.drawn = Number(canvas.dataset.drawn ?? 0) + 1;
      } catch {
        /* Broken, as it came: the next one counts. */
      }
    }
    isDrawing = false;
  };
  return (jpeg) => {
    next = jpeg;
    if (!isDrawing) void draw();
  };
}
`;
