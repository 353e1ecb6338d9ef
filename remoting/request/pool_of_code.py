"""The thread pool of a broker that serves each request code. Source: BrokerController.registerProcessor (5.3.3)."""

from collections.abc import Mapping

from rocketmq_testkit.emulator.overload.request_pools import Pool

from .request_code import RequestCode

_CODES: Mapping[Pool, tuple[RequestCode, ...]] = {
    Pool.SEND: (
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.CONSUMER_SEND_MSG_BACK,
        RequestCode.RECALL_MESSAGE,
    ),
    Pool.PULL: (
        RequestCode.PULL_MESSAGE,
        RequestCode.PEEK_MESSAGE,
        RequestCode.POP_MESSAGE,
        RequestCode.NOTIFICATION,
        RequestCode.POLLING_INFO,
    ),
    Pool.LITE_PULL: (RequestCode.LITE_PULL_MESSAGE,),
    Pool.ACK: (
        RequestCode.ACK_MESSAGE,
        RequestCode.BATCH_ACK_MESSAGE,
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
    ),
    Pool.REPLY: (RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2),
    Pool.QUERY: (RequestCode.QUERY_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID),
    Pool.HEARTBEAT: (RequestCode.HEART_BEAT,),
    Pool.CLIENT: (RequestCode.UNREGISTER_CLIENT, RequestCode.CHECK_CLIENT_CONFIG),
    Pool.CONSUMER: (
        RequestCode.GET_CONSUMER_LIST_BY_GROUP,
        RequestCode.UPDATE_CONSUMER_OFFSET,
        RequestCode.QUERY_CONSUMER_OFFSET,
    ),
    Pool.BALANCE: (RequestCode.QUERY_ASSIGNMENT, RequestCode.SET_MESSAGE_REQUEST_MODE),
    Pool.TRANSACTION: (RequestCode.END_TRANSACTION,),
}
_POOL_OF: Mapping[int, Pool] = {int(code): pool for pool, codes in _CODES.items() for code in codes}


def pool_of(code: int) -> Pool:
    """Return the pool of a request code. Codes without a pool of their own use the admin pool."""
    return _POOL_OF.get(code, Pool.ADMIN)
