import { randomUUID } from "node:crypto";
import { connect } from "node:net";

const stream = "TRELLIS_PROBE";

/**
 * Asks a server of a cluster whether JetStream could place a stream on every server, and resolves
 * to `false` while it could not, or does not answer within `timeoutMs`.
 *
 * The leader only takes a server into account when it knows its limits, which it hears some time
 * after the server has joined; no monitoring endpoint tells. So the question is a stream with a tag
 * that no server has: it is always refused, nothing is created, and the refusal speaks of offline
 * peers while there are any. A server that wants credentials or TLS cannot be asked: `true` then.
 */
export function canPlaceStreams(port: number, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const settle = (answer: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => settle(false), timeoutMs);
    let received = "";
    socket.setEncoding("utf8");
    socket.on("error", () => settle(false));
    socket.on("close", () => settle(false));
    socket.on("data", (text) => {
      const isFirst = received === "";
      received += text;
      if (isFirst) socket.write(question());
      const answer = readAnswer(received);
      if (answer !== undefined) settle(answer);
    });
  });
}

function question(): string {
  // Others may ask at the same time, and each wants only its own answer.
  const inbox = `_INBOX.${randomUUID()}`;
  const config = {
    name: stream,
    subjects: [stream],
    num_replicas: 1,
    placement: { tags: [inbox] },
  };
  const body = JSON.stringify(config);
  return `CONNECT {"verbose":false,"pedantic":false,"lang":"trellis"}\r\nSUB ${inbox} 1\r\n` +
    `PUB $JS.API.STREAM.CREATE.${stream} ${inbox} ${body.length}\r\n${body}\r\n`;
}

/** Reads what a server has sent so far; `undefined` while the answer is not complete. */
export function readAnswer(received: string): boolean | undefined {
  if (/^INFO .*"tls_required":true/m.test(received) || /^-ERR /m.test(received)) return true;
  const head = /^MSG \S+ 1 (\d+)\r\n/m.exec(received);
  if (head === null) return undefined;
  const body = received.slice(head.index + head[0].length);
  if (body.length < Number(head[1])) return undefined;
  return !body.includes("peer offline");
}
