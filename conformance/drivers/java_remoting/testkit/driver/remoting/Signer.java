package testkit.driver.remoting;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/** Signs every request as the SDK's own hook does, which the two versions have in different packages of other jars. */
final class Signer implements RPCHook {
    private final String accessKey;
    private final String secretKey;

    Signer(String accessKey, String secretKey) {
        this.accessKey = accessKey;
        this.secretKey = secretKey;
    }

    @Override
    public void doBeforeRequest(String address, RemotingCommand request) {
        request.makeCustomHeaderToNet();
        request.addExtField("AccessKey", accessKey);
        request.getExtFields().remove("Signature");
        StringBuilder text = new StringBuilder();
        for (Map.Entry<String, String> field : new TreeMap<>(request.getExtFields()).entrySet()) {
            if (field.getValue() != null) {
                text.append(field.getValue());
            }
        }
        try {
            Mac mac = Mac.getInstance("HmacSHA1");
            mac.init(new SecretKeySpec(secretKey.getBytes(StandardCharsets.UTF_8), "HmacSHA1"));
            mac.update(text.toString().getBytes(StandardCharsets.UTF_8));
            byte[] signature = mac.doFinal(request.getBody() == null ? new byte[0] : request.getBody());
            request.addExtField("Signature", Base64.getEncoder().encodeToString(signature));
        } catch (java.security.GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void doAfterResponse(String address, RemotingCommand request, RemotingCommand response) {
    }
}
