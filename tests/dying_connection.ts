/** A connection whose process kills itself when it is about to send something. */

import { bucketSubject, type Connection, KEYS_BUCKET, parseLifecycleSubject } from "../mod.ts";

/** What is about to be sent when the process dies. */
export type Death = "created" | "answer" | "started" | "release" | "ack";

/** Wraps a connection; without a death it is given back as it is. */
export function dyingConnection(connection: Connection, death: Death | undefined): Connection {
  if (death === undefined) return connection;
  const die = () => Deno.kill(Deno.pid, "SIGKILL");
  const keys = bucketSubject(KEYS_BUCKET, "");
  let completed = false;
  const publish: Connection["publish"] = (subject, data, options) => {
    const parsed = parseLifecycleSubject(subject);
    const eventType = parsed.ok ? parsed.value.eventType : "";
    if (eventType === death) die();
    if (completed && death === "release" && subject.startsWith(keys)) die();
    if (death === "ack" && subject.startsWith("$JS.ACK.") && completed) die();
    connection.publish(subject, data, options);
    completed ||= eventType === "completed";
    // The server has it when it answers; nobody here will hear that the job is created.
    if (death === "answer" && eventType === "created") void connection.flush().then(die);
  };
  return new Proxy(connection, {
    get(target, name) {
      if (name === "publish") return publish;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
