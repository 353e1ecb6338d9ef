/** Return a stored message from the form of the control port. */
export function fromForm(form) {
  const body = Buffer.from(form.body, "base64");
  return {
    topic: form.topic,
    body,
    text: body.toString("utf8"),
    tag: form.tag,
    keys: form.keys,
    properties: form.properties,
    id: form.message_id,
    messageGroup: form.message_group,
    broker: form.broker,
    queueId: form.queue_id,
    queueOffset: form.queue_offset,
    bornAt: new Date(form.born_at_ms),
    storedAt: new Date(form.stored_at_ms),
    reconsumeTimes: form.reconsume_times,
    offsetId: form.offset_message_id,
    physicalOffset: form.physical_offset,
    bornHost: form.born_host.join(":"),
    compressed: form.compressed,
  };
}

/** Return the form of a message to send: a text, bytes, or an object with a body. */
export function toForm(message) {
  const { body, tag, keys, properties, messageGroup } =
    typeof message === "string" || message instanceof Uint8Array ? { body: message } : message;
  return {
    body: Buffer.from(body).toString("base64"),
    tag,
    keys,
    properties,
    message_group: messageGroup,
  };
}
