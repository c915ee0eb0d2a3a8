"""The filter “at or below this topic”, as match rules for the bus and as a predicate."""

import unicodedata
from collections.abc import Iterable

from ._errors import PREFIX, InvalidTopic

ROUTER = "org.notifyd.Router1"


class TopicFilter:
    """Everything at or below a topic; ``/`` stands for every topic."""

    def __init__(self, topic: str) -> None:
        """Raises InvalidTopic: an invalid topic must not get into a match rule."""
        if not isinstance(topic, str):
            raise TypeError(f"A topic is a text, not of the type {type(topic).__name__}.")
        self.topic = topic
        if fault := _fault(topic):
            raise InvalidTopic(PREFIX + "InvalidTopic", f"“{topic}” is not a topic: {fault}. Write it like /post/27.")

    def covers(self, topic: str) -> bool:
        """Whether a topic is at or below this one."""
        return self.topic == "/" or topic == self.topic or topic.startswith(self.topic + "/")

    def rules(self, member: str) -> list[str]:
        """The match rules for one of the daemon's signals."""
        rule = f"type='signal',sender='{ROUTER}',interface='{ROUTER}',member='{member}'"
        if self.topic == "/":
            return [rule]
        return [f"{rule},arg0='{self.topic}'", f"{rule},arg0path='{self.topic}/'"]


def filters(topics: Iterable[str]) -> list[TopicFilter]:
    """One filter for each topic."""
    result = [TopicFilter(topic) for topic in dict.fromkeys(topics)]
    if not result:
        raise ValueError("No topic was given. Every topic is “/”.")
    return result


def ancestor(topics: list[TopicFilter]) -> str:
    """The lowest topic that everything these filters cover is at or below."""
    common: list[str] = []
    for level in zip(*(filter.topic.split("/")[1:] for filter in topics)):
        if len(set(level)) > 1:
            break
        common.append(level[0])
    return "/" + "/".join(common)


def _fault(topic: str) -> str | None:
    if not topic.startswith("/"):
        return "it does not begin with /"
    if topic == "/":
        return None
    try:
        size = len(topic.encode())
    except UnicodeEncodeError:
        return "it holds a lone surrogate"
    if size > 255:
        return "it has more than 255 bytes"
    for character in topic:
        if character in "'\\{}*":
            return f"{character} is not allowed in it"
        if unicodedata.category(character) == "Cc":
            return "it holds a control character"
    segments = topic[1:].split("/")
    if len(segments) > 16:
        return "it has more than 16 segments"
    if "" in segments:
        return "it has an empty segment, or ends with /"
    if any(len(segment.encode()) > 64 for segment in segments):
        return "a segment has more than 64 bytes"
    return None
